import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Endpoint, type Operation, operations } from '@holdfast/contract'
import { entryPermissions } from '@holdfast/contract/endpoint'
import { exampleId, nounOfId } from '@holdfast/contract/schema'
import { credentialKinds, type Noun, type Permission, roleNames } from '@holdfast/contract/vocabulary'
import { encodeId } from '../../src/kernel/ids.ts'
import { callerFor, createAllCallers } from '../support/actors/all-callers.ts'
import { hasPermission } from '../support/actors/roles.ts'
import { refusalIn } from '../support/clients/answers.ts'
import { type Caller, call } from '../support/clients/api-calls.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { exampleBody, exampleQuery, fillPath } from '../support/domain/example-requests.ts'

const guarded = operations.filter(([, e]) => e.access.by !== 'anyone')

/**
 * Chooses the wrong callers for an endpoint. A refusal depends on the requirement alone: the first endpoint with a
 * requirement gets every wrong caller, each later one gets one of them in turn. With `everyCaller` each gets all.
 */
function chosen<R extends readonly string[], C>(wrongFor: (requirement: R) => readonly C[], everyCaller: boolean) {
  const seen = new Set<string>()
  return (requirement: R, i: number): readonly C[] => {
    const callers = wrongFor(requirement)
    const key = requirement.toSorted().join()
    const isNew = everyCaller || !seen.has(key)
    seen.add(key)
    return callers.filter((_, nth) => isNew || nth === i % callers.length)
  }
}

/** Sends to every route what it must refuse. `everyCaller` tries every wrong caller at every route. */
export async function refuseWrongCallers(t: TestContext, { everyCaller }: { everyCaller: boolean }): Promise<void> {
  const kit = await startKit(t)
  const world = await createAllCallers(kit)
  const wrong: string[] = []
  const expect = async (
    what: string,
    status: number,
    error: string,
    e: { method: string; path: string },
    caller: Caller | null,
    query = '',
    body: object = {},
  ) => {
    const answer = await call(
      kit,
      { ...e, path: fillPath(e.path, world.own.ids) },
      caller,
      e.method === 'GET' ? undefined : body,
      query,
    )
    const said = refusalIn(answer)
    if (answer.status !== status || said.error !== error || said.request_id !== answer.headers['x-request-id'])
      wrong.push(`${what}: ${e.method} ${e.path} -> ${answer.status} ${answer.text.slice(0, 200)}`)
  }

  await t.test('a missing, malformed or doubled credential gets 401', async () => {
    const broken = ['', 'x', 'hfk_nonsense', 'hfg_nonsense', 'hfe_nonsense', 'a.b.c', kit.adminKey.slice(0, -1)]
    const bearers = broken.map((token) => ({ authorization: `Bearer ${token}` }))
    const otherwise = [{ authorization: 'Basic YWRtaW46YWRtaW4=' }, { cookie: 'holdfast_session=nonsense' }]
    const both: Caller = (m, u) => ({ ...world.callers.session(m, u), ...world.callers.api_key(m, u) })
    const shown: Caller[] = [both, ...[...bearers, ...otherwise].map((headers) => () => headers)]
    for (const [i, [, e]] of guarded.entries()) {
      await expect('none', 401, 'unauthorized', e, null)
      // The code that reads credentials does not depend on the route: each route is tested with some of them.
      for (const nth of [i, i + 3, i + 5])
        await expect(`broken ${nth % shown.length}`, 401, 'unauthorized', e, shown[nth % shown.length]!)
    }
    assert.deepEqual(wrong.splice(0), [])
  })

  await t.test('a valid credential of another kind gets 403', async () => {
    const kindsFor = chosen(
      (by: readonly string[]) => credentialKinds.filter((kind) => !by.includes(kind)),
      everyCaller,
    )
    for (const [i, [, e]] of guarded.entries())
      for (const kind of kindsFor(e.access.by as readonly string[], i))
        await expect(kind, 403, 'forbidden', e, world.callers[kind])
    assert.deepEqual(wrong.splice(0), [])
  })

  await t.test('a role without the permission gets 403', async () => {
    const rolesFor = chosen(
      (needed: readonly Permission[]) => roleNames.filter((role) => !needed.some((p) => hasPermission(role, p))),
      everyCaller,
    )
    for (const [i, [, e]] of guarded.entries()) {
      const needed = entryPermissions(e)
      if (!needed || e.access.by === 'anyone' || !e.access.by.includes('api_key')) continue
      for (const role of rolesFor(needed, i)) await expect(role, 403, 'forbidden', e, await world.byRole(role))
    }
    assert.deepEqual(wrong.splice(0), [])
  })

  await t.test('a role with the permission of another operation of the route only gets 403', async () => {
    let operations = 0
    for (const [, e] of guarded)
      for (const [operation, { permission }] of Object.entries(e.operations ?? {}))
        for (const role of roleNames.filter((r) => !hasPermission(r, permission))) {
          operations++
          await expect(`${role} ${operation}`, 403, 'forbidden', e, await world.byRole(role), '', { operation })
        }
    assert.ok(operations > 10)
    assert.deepEqual(wrong.splice(0), [])
  })

  await t.test('another tenant without a platform role gets 403, and a missing tenant 404', async () => {
    const tenantAdmin = await world.byRole('tenant_admin')
    for (const [, e] of guarded) {
      if (e.access.by === 'anyone' || !e.access.by.includes('api_key')) continue
      if (entryPermissions(e)?.some((p) => hasPermission('tenant_admin', p)) ?? true)
        await expect(
          'other tenant',
          403,
          'forbidden',
          e,
          tenantAdmin,
          `?tenant_id=${encodeId('tenant', world.foreign)}`,
        )
      await expect(
        'no tenant',
        404,
        'not_found',
        e,
        world.callers.api_key,
        `?tenant_id=${encodeId('tenant', crypto.randomUUID())}`,
      )
    }
    assert.deepEqual(wrong.splice(0), [])
  })

  await t.test('an object of another tenant gets the same 404 as an unknown id', async () => {
    // A plan is no tenant's.
    const withIds = guarded.filter(([, e]) => e.params && !e.path.includes('{plan_id}'))
    const tenantAdmin = await world.byRole('tenant_admin')
    const callerOf = (e: Endpoint) => {
      const { by } = e.access
      // A platform role may look into every tenant.
      if (e.path.includes('{tenant_id}')) return tenantAdmin
      return callerFor(e, world.own, world.callers[by === 'anyone' || by.includes('api_key') ? 'api_key' : by[0]])
    }
    for (const [name, e] of withIds) {
      const body = exampleBody(name, world.own.ids)
      const answers = []
      for (const ids of [world.others.ids, inventedIds(), brokenIds()])
        answers.push(
          await call(kit, { method: e.method, path: fillPath(e.path, ids) }, callerOf(e), body, exampleQuery(name)),
        )
      const bodies = new Set(answers.map((a) => `${a.status} ${a.json.error} ${a.json.detail}`))
      if (bodies.size !== 1 || answers[0]!.status !== 404)
        wrong.push(`${e.method} ${e.path}: ${[...bodies].join(' | ')}`)
    }
    assert.ok(withIds.length > 10)
    assert.deepEqual(wrong.splice(0), [])
  })

  await t.test('a malformed id in a query gets 400 with its name, and an unknown id an empty list', async () => {
    let walked = 0
    for (const [name, e] of guarded)
      for (const [field, noun] of idsIn(e.query)) {
        walked++
        const { by } = e.access
        const kind = credentialKinds.find((k) => by !== 'anyone' && by.includes(k) && k !== 'session') ?? 'session'
        const ask = (id: string) => {
          const others = new URLSearchParams(neededBeside(name, world.own.ids))
          others.set(field, id)
          return call(
            kit,
            { ...e, path: fillPath(e.path, world.own.ids) },
            world.callers[kind],
            undefined,
            `?${others}`,
          )
        }
        const other = encodeId(noun === 'notification' ? 'user' : 'notification', crypto.randomUUID())
        const malformedIds = ['x', '', other, exampleId(noun).toUpperCase(), `${exampleId(noun)}0`]
        // The code that reads ids does not depend on the route: each one is tested with some of them.
        for (const malformed of malformedIds.filter((_, nth) => everyCaller || (nth + walked) % 2 === 0)) {
          const { status, json } = await ask(malformed)
          const { error, detail } = json
          if (status !== 400 || error !== 'bad_request' || !String(detail).startsWith(`${field}: is not the id of`))
            wrong.push(`${name} ${field}=${malformed}: ${status} ${detail}`)
        }
        const { status, json } = await ask(encodeId(noun, crypto.randomUUID()))
        const isList = 'items' in ((e.response as Shaped).properties ?? {})
        const isFacets = 'facets' in ((e.response as Shaped).properties ?? {})
        const fits = isFacets
          ? status === 200 && (json.total as { count: number }).count === 0
          : isList
            ? status === 200 && (json.items as unknown[]).length === 0
            : status === 404
        if (!fits) wrong.push(`${name} ${field} unknown: ${status} ${json.detail}`)
      }
    assert.ok(walked > 15, `${walked} parameters`)
    for (const [, e] of guarded)
      if (e.access.by !== 'anyone' && e.access.by.includes('api_key'))
        await expect('malformed tenant', 400, 'bad_request', e, world.callers.api_key, '?tenant_id=default')
    assert.deepEqual(wrong.splice(0), [])
  })

  await t.test('limit and cursor work on every list with a next_cursor, and are refused elsewhere', async () => {
    let pages = 0
    for (const [name, e] of guarded) {
      const { items, next_cursor } = (e.response as Shaped).properties ?? {}
      if (e.method !== 'GET' || !items || e.protocol || e.access.by === 'anyone') continue
      const kind = credentialKinds.find((k) => e.access.by.includes(k) && k !== 'session') ?? 'session'
      const ask = (query: Record<string, string>) => {
        const path = fillPath(e.path, world.own.ids)
        const all = new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(exampleQuery(name))), ...query })
        return call(kit, { ...e, path }, world.callers[kind], undefined, `?${all}`)
      }
      const first = await ask({ limit: '1' })
      const found = (first.json.items ?? []) as unknown[]
      if (first.status !== (next_cursor ? 200 : 400) || found.length > 1)
        wrong.push(`${name}: ${first.status} with ${found.length} items ${first.text.slice(0, 100)}`)
      const { next_cursor: cursor } = first.json
      if (typeof cursor !== 'string') continue
      pages++
      const second = await ask({ limit: '1', cursor })
      if (second.status !== 200 || JSON.stringify(second.json.items) === JSON.stringify(found))
        wrong.push(`${name}, page 2: ${second.status} ${second.text.slice(0, 100)}`)
    }
    assert.ok(pages >= 5, `${pages} lists have a second page`)
    assert.deepEqual(wrong.splice(0), [])
  })

  await t.test('a malformed id in the filter of a body gets 422 with its name', async () => {
    let walked = 0
    for (const [name, e] of guarded)
      for (const [field] of idsIn((e.body as Shaped | undefined)?.properties?.filter)) {
        walked++
        const operation = (e.body as Shaped).properties?.operation?.enum?.[0]
        const body = { filter: { [field]: 'x' }, reason: 'test', ...(operation && { operation }) }
        const { status, json } = await call(kit, e, world.callers.api_key, body)
        const { errors } = json as { errors?: { field: string }[] }
        if (status !== 422 || errors?.[0]?.field !== `filter.${field}`)
          wrong.push(`${name} filter.${field}: ${status} ${json.detail}`)
      }
    assert.ok(walked > 6, `${walked} fields`)
    assert.deepEqual(wrong.splice(0), [])
  })

  await t.test('an unknown path gets 401 without a credential, and 404 with one', async () => {
    for (const path of [
      '/',
      '/v1',
      '/v1/',
      '/v1/nothing',
      '/v2/admin/users',
      '/v1/admin/users/',
      '//v1/admin/users',
      '/v1/admin/%75sers/x',
      '/v1/%ff',
      '/v1/admin/tokens/%00/revoke',
      '/admin/../v1/x',
      '/v1/admin/users%2f',
    ]) {
      await expect('stranger', 401, 'unauthorized', { method: 'GET', path }, null)
      const known = await call(kit, { method: 'GET', path }, world.callers.api_key)
      if (known.status !== 404 || known.json.error !== 'not_found')
        wrong.push(`known: ${path} -> ${known.status} ${known.text}`)
    }
    for (const method of ['PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'])
      assert.equal((await call(kit, { method, path: '/v1/admin/users' }, null)).status, 401, method)
    assert.equal((await call(kit, { method: 'PATCH', path: '/v1/admin/users' }, world.callers.api_key)).status, 404)
    assert.deepEqual(wrong.splice(0), [])
  })
}

type Shaped = { properties?: Record<string, Shaped & { title?: string; enum?: string[] }> }
/** The ids in a query or an object, with their field names. */
const idsIn = (schema: unknown): [field: string, noun: Noun][] =>
  Object.entries((schema as Shaped | undefined)?.properties ?? {}).flatMap(([field, part]): [string, Noun][] => {
    const noun = nounOfId(part)
    return noun ? [[field, noun]] : []
  })
/** Other parameters without which a query is refused. */
const neededBeside = (name: Operation, { device_id = '' }: Record<string, string>): Record<string, string> =>
  ({
    exportAuditToWebhook: { from: '2026-01-01T00:00:00.000Z' },
    updateManifest: { platform: 'linux', arch: 'x64', version: '1.0.0' },
    postureAssertion: { device_id },
  })[name as string] ?? {}

const inventedIds = () => ({
  event_id: encodeId('audit_event', crypto.randomUUID()),
  legal_hold_id: encodeId('legal_hold', crypto.randomUUID()),
  tenant_id: encodeId('tenant', crypto.randomUUID()),
  user_id: encodeId('user', crypto.randomUUID()),
  group_id: encodeId('group', crypto.randomUUID()),
  token_id: encodeId('enrollment_token', crypto.randomUUID()),
  device_id: encodeId('device', crypto.randomUUID()),
  pool_id: encodeId('gateway_pool', crypto.randomUUID()),
  gateway_id: encodeId('gateway', crypto.randomUUID()),
  key_id: encodeId('api_key', crypto.randomUUID()),
  bundle_id: encodeId('policy_bundle', crypto.randomUUID()),
  session_id: encodeId('vpn_session', crypto.randomUUID()),
  notification_id: encodeId('notification', crypto.randomUUID()),
  provider_id: encodeId('identity_provider', crypto.randomUUID()),
  run_id: encodeId('directory_run', crypto.randomUUID()),
  scim_user_id: encodeId('user', crypto.randomUUID()),
  scim_group_id: encodeId('group', crypto.randomUUID()),
  source_id: encodeId('directory_source', crypto.randomUUID()),
  signer_id: encodeId('signer', crypto.randomUUID()),
  lock_id: encodeId('lock', crypto.randomUUID()),
  view_id: encodeId('view', crypto.randomUUID()),
  draft_id: encodeId('policy_draft', crypto.randomUUID()),
  workflow_run_id: encodeId('workflow_run', crypto.randomUUID()),
  spc_id: encodeId('spc', crypto.randomUUID()),
  release_id: encodeId('release', crypto.randomUUID()),
  package_id: encodeId('package', crypto.randomUUID()),
  connector_id: encodeId('siem_connector', crypto.randomUUID()),
  export_id: encodeId('siem_export', crypto.randomUUID()),
})
const brokenIds = () =>
  Object.fromEntries(Object.keys(inventedIds()).map((k) => [k, encodeId('notification', crypto.randomUUID())]))
