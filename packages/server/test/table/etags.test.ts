import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Endpoint, operations } from '@holdfast/contract'
import { type AllCallers, ownPeerChunk } from '../support/actors/all-callers.ts'
import { insertDeviceGrant } from '../support/actors/device-code-enrollment.ts'
import { createFullWorld, readQuery } from '../support/actors/full-world.ts'
import { bearer, type Caller, call, operation } from '../support/clients/api-calls.ts'
import { type Kit, startKit, times } from '../support/deployment/deployment.ts'
import { fillPath } from '../support/domain/example-requests.ts'
import { createExampleCheck } from '../support/domain/recorded-examples.ts'

const reads = operations.filter(([, e]) => e.method === 'GET')
const tagged = reads.filter(([, e]) => e.etag)

const pathOf = (e: Endpoint, { own }: AllCallers): string => fillPath(e.path, own.ids)
const queryOf = (name: string, { own }: AllCallers): string => readQuery(name, own.ids)
/** Callers for the endpoints that need their own. */
type Own = Readonly<Record<string, Caller>>
const ownCallers = async (kit: Kit, { own }: AllCallers): Promise<Own> => {
  // Several machines, since a single one would exceed its rate limit.
  const machines = await times(10, () => insertDeviceGrant(kit, own.token, own.ids.provider_id))
  let asked = 0
  return { deviceCodeStatus: (method, url) => machines[asked++ % machines.length]!(method, url) }
}
const callerOf = (name: string, e: Endpoint, { callers, own }: AllCallers, special: Own): Caller | null => {
  if (special[name]) return special[name]
  const { by } = e.access
  if (e.protocol === 'scim') return own.provisioner
  const kind = (['api_key', 'device', 'gateway', 'session'] as const).find((k) => by !== 'anyone' && by.includes(k))
  return kind ? callers[kind] : null
}
const withHeaders =
  (caller: Caller | null, more: Record<string, string>): Caller =>
  (method, url) => ({ ...caller?.(method, url), ...more })

test('reads with entity tags', async (t) => {
  const kit = await startKit(t)
  const world = await createFullWorld(kit)
  Object.assign(world.own.ids, world.ids)
  const own = await ownCallers(kit, world)
  await t.test('every read with an ETag × {none, exact, weak, list, *, other} × GET, HEAD', () =>
    readByTags(kit, world, own),
  )
  await t.test(
    'every HEAD is answered like its GET without the body, for known and refused callers, with the rate of limited callers; every read answers in the shape of its example',
    () => readByHead(kit, world, own),
  )
  await t.test('every long poll waits for any form of its tag, and its answer gives the wait', () =>
    readByWaiting(kit, world, own),
  )
})

async function readByTags(kit: Kit, world: AllCallers, own: Own): Promise<void> {
  Object.assign(world.own.ids, { digest: await ownPeerChunk(kit, world), file: 'timestamp.json' })
  const wrong: string[] = []
  const walk = async (name: string, e: Endpoint, nth: number): Promise<string[]> => {
    const wrong: string[] = []
    const path = pathOf(e, world)
    const given = queryOf(name, world)
    const ask = (method: string, more: Record<string, string>, query = given) =>
      call(kit, { method, path }, withHeaders(callerOf(name, e, world, own), more), undefined, query)
    const etag = String((await ask('GET', {})).headers.etag)
    if (!/^"[^"]+"$/.test(etag)) wrong.push(`${name}: ETag: ${etag}`)
    type Form = readonly [what: string, ifNoneMatch: string | undefined, known: boolean]
    const usual: readonly Form[] = [
      ['none', undefined, false],
      ['exact', etag, true],
    ]
    const forms: readonly Form[] = [
      ['weak', `W/${etag}`, true],
      ['list', `"a,b" , W/"x",${etag}`, true],
      ['*', '*', true],
      ['other', '"other"', false],
      ['a list of others', `"${etag.slice(1, -1)}x", W/"other"`, false],
      ['no tag', etag.slice(1, -1), false],
      ['garbage before it', `x${etag}`, false],
    ]
    // The code that compares tags does not depend on the route: each route is tested with some of the forms only.
    const inTurn = (k: number) => forms[(nth + k) % forms.length]!
    const asking: readonly (readonly [method: string, query: string, forms: readonly Form[]])[] = [
      ['GET', given, [...usual, inTurn(0), inTurn(2), inTurn(4)]],
      ['HEAD', given, [...usual, inTurn(1)]],
      // An empty query sends a request past the fast path in front of the router; both must answer alike.
      ...(given ? [] : [['GET', '?', [...usual, inTurn(3)]] as const]),
    ]
    for (const [method, query, asked] of asking)
      for (const [what, ifNoneMatch, known] of asked) {
        const answer = await ask(method, ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch }, query)
        const { status, headers, text } = answer
        const hasBody = method === 'GET' && !known
        const fits =
          status === (known ? 304 : 200) &&
          headers.etag === etag &&
          headers['x-request-id'] !== undefined &&
          headers['cache-control'] === (e.immutable ? 'private, max-age=86400, immutable' : 'no-store') &&
          (text !== '') === hasBody &&
          (known ||
            headers['content-type'] === `application/${e.protocol === 'scim' ? 'scim+' : ''}json; charset=utf-8`)
        if (!fits) wrong.push(`${name} ${method} ${what}: ${status} ${JSON.stringify(headers)} ${text.slice(0, 80)}`)
      }
    return wrong
  }
  for (const [nth, [name, e]] of tagged.entries()) {
    let found = await walk(name, e, nth)
    // Measured values may have changed in between, so a failure is checked once more.
    if (found.length > 0) found = await walk(name, e, nth)
    wrong.push(...found)
  }
  assert.ok(tagged.length >= 7)
  assert.deepEqual(wrong, [])
}

/** True if an answer has rate limit headers. Asserts that they are well-formed. */
const isTold = ({ ratelimit, 'ratelimit-policy': policy }: Record<string, unknown>): boolean => {
  if (ratelimit === undefined && policy === undefined) return false
  const [, name, q] = /^"(session|api_key|gateway|device)";q=(\d+);w=\d+$/.exec(String(policy)) ?? []
  const [, its, r] = /^"(\w+)";r=(\d+);t=\d+$/.exec(String(ratelimit)) ?? []
  assert.ok(name !== undefined && its === name && Number(r) <= Number(q), `${policy} ${ratelimit}`)
  return true
}

async function readByHead(kit: Kit, world: AllCallers, own: Own): Promise<void> {
  const wrong: string[] = []
  const examples = createExampleCheck('reads')
  // An event stream does not end by itself; its own test covers HEAD.
  for (const [name, e] of reads.filter(([, e]) => !e.begins && !e.events))
    for (const caller of [callerOf(name, e, world, own), null]) {
      const ask = (method: string) =>
        call(kit, { method, path: pathOf(e, world) }, caller, undefined, queryOf(name, world))
      const [get, head] = [await ask('GET'), await ask('HEAD')]
      examples.note(name, get)
      if (caller !== null && !e.download && get.status !== 200)
        wrong.push(`${name}: ${get.status} ${get.text.slice(0, 200)}`)
      const same = ['content-type', 'etag', 'www-authenticate'].every((h) => head.headers[h] === get.headers[h])
      if (head.status !== get.status || head.text !== '' || !same)
        wrong.push(`${name}: GET ${get.status}, HEAD ${head.status} ${JSON.stringify(head.headers)}`)
      const isCounted = caller !== null && caller !== own[name] && e.access.by !== 'anyone'
      for (const { headers } of [get, head])
        if (isTold(headers) !== isCounted) wrong.push(`${name}: ${JSON.stringify(headers)}`)
    }
  examples.note('exportAuditToWebhook', await beginExport(kit))
  assert.deepEqual(wrong, [])
  examples.assertExamples()
}

/** The only read that begins something. No request leaves this machine: those to loopback are refused. */
async function beginExport(kit: Kit) {
  const url = 'https://localhost/audit'
  const body = { kind: 'webhook', name: 'archive', format: 'json', enabled: true, url } as const
  const { connector } = await kit.admin.createSiemConnector({ body })
  const query = `?connector_id=${connector.connector_id}&from=2026-01-01T00:00:00Z`
  const begun = await call(kit, operation('exportAuditToWebhook'), bearer(kit.adminKey), undefined, query)
  assert.equal(begun.status, 202, begun.text)
  return begun
}

async function readByWaiting(kit: Kit, world: AllCallers, own: Own): Promise<void> {
  const wrong: string[] = []
  const waiting = reads.filter(([, e]) => e.waits)
  // The last form goes past the fast path in front of the router.
  const forms = [
    [(tag: string) => tag, ''],
    [(tag: string) => `W/${tag}`, ''],
    [(tag: string) => `"a", ${tag}`, ''],
    [(tag: string) => tag, '?'],
  ] as const
  await Promise.all(
    waiting.flatMap(([name, e]) =>
      forms.map(async ([form, query]) => {
        const ask = (more: Record<string, string>, query = '') =>
          call(kit, { method: 'GET', path: e.path }, withHeaders(callerOf(name, e, world, own), more), undefined, query)
        const first = await ask({})
        const known = e.etag ? { 'if-none-match': form(String(first.headers.etag)) } : {}
        const started = performance.now()
        const held = await ask({ prefer: 'wait=1', ...known }, e.etag ? query : `?since=${first.json.seq}`)
        const took = performance.now() - started
        const fits =
          held.status === (e.etag ? 304 : 200) && took >= 950 && held.headers['preference-applied'] === 'wait=1'
        if (!fits) wrong.push(`${name} ${JSON.stringify(known)}: ${held.status} after ${took} ms`)
      }),
    ),
  )
  assert.ok(waiting.length >= 3)
  assert.deepEqual(wrong, [])
  const granted = async (prefer: string, more: Record<string, string> = {}) => {
    const answer = await call(
      kit,
      { method: 'GET', path: '/v1/policy/digest' },
      withHeaders(world.callers.device, { prefer, ...more }),
    )
    return answer.headers['preference-applied']
  }
  assert.equal(await granted('wait=3600'), 'wait=300', 'at most five minutes')
  assert.equal(await granted('wait=3600', { connection: 'close' }), 'wait=55', 'less where the connection ends')
  assert.equal(await granted('respond-async, wait="7"; x=1'), 'wait=7')
  for (const none of ['wait=0', 'wait=x', 'respond-async', 'await=5'])
    assert.equal(await granted(none), undefined, none)
}
