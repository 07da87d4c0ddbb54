import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Endpoint, type Operation, operations } from '@holdfast/contract'
import { entryPermissions } from '@holdfast/contract/endpoint'
import { credentialKinds, type Permission, type Role, roleNames, roles } from '@holdfast/contract/vocabulary'
import { mintToken } from '@holdfast/crypto'
import {
  bearer,
  type Caller,
  call,
  createWorld,
  fill,
  operation,
  type Raw,
  refusalIn,
  speaking,
} from '../support/actors/all-callers.ts'
import { adminPassword, type Kit, startKit } from '../support/deployment/deployment.ts'

type Event = Awaited<ReturnType<Kit['admin']['listAuditEvents']>>['items'][number]
/** All audit events, by the request that caused them. */
async function eventsByRequest({ admin }: Kit): Promise<Map<string, Event[]>> {
  const all: Event[] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await admin.listAuditEvents({ query: { limit: 200, ...(cursor && { cursor }) } })
    all.push(...page.items)
    cursor = page.next_cursor
  }
  return Map.groupBy(all, (event) => String(event.request_id))
}

const has = (role: Role, permission: Permission) => (roles[role] as readonly string[]).includes(permission)
const reads = operations.filter(([, e]) => e.method === 'GET')
const writes = operations.filter(([, e]) => e.method !== 'GET')

test('what is on record', async (t) => {
  const kit = await startKit(t)
  const world = await createWorld(kit)

  await t.test('no secret reaches an event or a log line', async () => {
    await call(kit, operation('login'), null, { username: 'admin', password: 'wrong password of mine' })
    await call(
      kit,
      operation('generateToken'),
      () => ({ authorization: `Bearer ${mintToken(kit.peppers, 'hfk', kit.tenant).token}` }),
      {},
    )
    const events = JSON.stringify((await kit.admin.listAuditEvents({ query: { limit: 200 } })).items)
    const secrets = [
      kit.adminKey,
      world.own.token,
      world.own.secret,
      world.own.device.credential,
      adminPassword,
      'wrong password of mine',
    ]
    for (const secret of secrets) {
      assert.ok(!events.includes(secret), 'a secret in an event')
      assert.ok(!kit.logs.join('\n').includes(secret), 'a secret in the log')
    }
  })

  await t.test(
    'every use of an API key is on record before its answer, with exactly the fields of the specification',
    async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => call(kit, operation('listUsers'), bearer(kit.adminKey))),
      )
      const record = await eventsByRequest(kit)
      for (const answer of answers) {
        const items = record.get(String(answer.headers['x-request-id'])) ?? []
        assert.equal(items.length, 1)
        const { key_id, source_ip, endpoint, timestamp, kind } = items[0] as unknown as Record<string, string>
        assert.deepEqual(
          { kind, source_ip, endpoint },
          { kind: 'api_key.used', source_ip: '127.0.0.1', endpoint: 'GET /v1/admin/users' },
        )
        assert.match(String(key_id), /^key_/)
        assert.match(String(timestamp), /^\d{4}-.*\.\d{3}Z$/)
      }
    },
  )

  await t.test(
    'every write that is refused leaves a refusal that names it, and no event of what did not happen',
    async () => {
      const answers: { name: string; audit: Endpoint['audit']; answer: Raw }[] = []
      for (const [name, e] of writes) {
        if (e.access.by === 'anyone') continue
        const path = fill(e.path, world.own.ids)
        const wrongKind = (['device', 'gateway', 'api_key'] as const).find(
          (k) => e.access.by !== 'anyone' && !e.access.by.includes(k),
        )
        const refusals = [
          ...(wrongKind ? [await call(kit, { method: e.method, path }, world.callers[wrongKind], {})] : []),
          await call(kit, { method: e.method, path }, speaking(e, world.own, world.callers[e.access.by[0]]), {
            no_such_field: 1,
          }),
        ]
        answers.push(...refusals.map((answer) => ({ name, audit: e.audit, answer })))
      }
      const record = await eventsByRequest(kit)
      const problems: string[] = []
      for (const { name, audit, answer } of answers) {
        if (answer.status < 400 || answer.status >= 500)
          problems.push(`${name}: not refused but ${answer.status} ${answer.text}`)
        const events = record.get(String(answer.headers['x-request-id'])) ?? []
        const kinds = events.map(
          (event) => `${event.kind} ${event.outcome} ${'operation' in event ? event.operation : ''}`,
        )
        if (!kinds.includes(`request.refused refused ${name}`) || events.some((event) => event.kind === audit))
          problems.push(`${name} ${answer.status}: left ${JSON.stringify(kinds)}`)
      }
      assert.deepEqual(problems, [])
    },
  )

  await t.test('every read that is refused leaves a refusal that names it', async () => {
    const answers: { name: string; what: string; answer: Raw }[] = []
    const refuse = async (
      name: Operation,
      what: string,
      caller: Caller | null,
      query = '',
      ids: Record<string, string> = world.own.ids,
    ) => {
      const { method, path } = operation(name)
      answers.push({ name, what, answer: await call(kit, { method, path: fill(path, ids) }, caller, undefined, query) })
    }
    for (const [name, e] of reads) {
      if (e.access.by === 'anyone') {
        await refuse(name, 'unreadable, by a stranger', null, '?no_such_parameter=1')
        continue
      }
      const { by } = e.access
      const right = speaking(e, world.own, world.callers[by.includes('api_key') ? 'api_key' : by[0]])
      const wrongKind = credentialKinds.find((kind) => !by.includes(kind))
      if (wrongKind) await refuse(name, 'wrong kind', world.callers[wrongKind])
      const weak = roleNames.find((role) => entryPermissions(e)?.every((p) => !has(role, p)))
      if (weak && by.includes('api_key')) await refuse(name, 'no permission', await world.byRole(weak))
      // SCIM reads past parameters that it does not know.
      if (e.protocol !== 'scim') await refuse(name, 'unreadable', right, '?no_such_parameter=1')
      if (e.params) await refuse(name, 'unknown id', right, '', {})
    }
    const record = await eventsByRequest(kit)
    const problems: string[] = []
    for (const { name, what, answer } of answers) {
      const { method, path } = operation(name as Operation)
      if (answer.status < 400 || answer.status >= 500)
        problems.push(`${name}, ${what}: not refused but ${answer.status} ${answer.text}`)
      const events = record.get(String(answer.headers['x-request-id'])) ?? []
      const found = events.find((e) => e.kind === 'request.refused') as Record<string, unknown> | undefined
      const said = [found?.operation, found?.endpoint, found?.reason, found?.outcome, found?.source_ip]
      const error = refusalIn(answer).error
      if (JSON.stringify(said) !== JSON.stringify([name, `${method} ${path}`, error, 'refused', '127.0.0.1']))
        problems.push(`${name}, ${what} ${answer.status}: left ${JSON.stringify(said)}`)
    }
    assert.deepEqual(problems, [])
    assert.ok(answers.length > 2 * reads.length)
  })

  await t.test('an event that can not be written fails the change it describes', async () => {
    const { default: pg } = await import('pg')
    const owner = new pg.Client({ connectionString: kit.databaseUrl })
    await owner.connect()
    await owner.query(`create function refuse() returns trigger language plpgsql as $$ begin raise 'disk full'; end $$`)
    await owner.query(
      `create trigger refuse before insert on audit_arrivals for each row when (new.kind = 'enrollment_token.created') execute function refuse()`,
    )
    await owner.end()
    const answer = await call(kit, operation('generateToken'), bearer(kit.adminKey), { name: 'never' })
    assert.equal(answer.status, 500)
    assert.doesNotMatch(answer.text, /disk full/)
    assert.deepEqual((await kit.admin.listTokens({ query: { q: 'never' } })).items, [])
  })
})
