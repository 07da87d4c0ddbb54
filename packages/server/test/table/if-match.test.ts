import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contract, type Operation, operations } from '@holdfast/contract'
import { callerFor } from '../support/actors/all-callers.ts'
import { makeSampleObjects } from '../support/actors/sample-objects.ts'
import { type ApiAnswer, bearer, call, operation as operationOf } from '../support/clients/api-calls.ts'
import { type Kit, startKit, times } from '../support/deployment/deployment.ts'
import { fillPath, objectKindsIn } from '../support/domain/example-requests.ts'
import { withAnyVersion } from './writes.ts'

type Ids = Record<string, string>
/**
 * For each write with If-Match: the read of its object, and a body that changes the object in any state. A different
 * `n` gives a different body.
 */
type Row = {
  read: Operation
  body?: (ids: Ids, n: number, shown: Record<string, unknown>) => unknown
  before?: Operation
}
const rows: Partial<Record<Operation, Row>> = {
  changeTenant: {
    read: 'getTenant',
    body: ({ tenant_id }, n) => ({ operation: 'update', tenant_id, tenant: { display_name: `name ${n}` } }),
  },
  updatePlan: { read: 'getPlan', body: (_, n, shown) => ({ ...shown, limits: { users: n } }) },
  deletePlan: { read: 'getPlan' },
  updateView: { read: 'getView', body: (_, n, shown) => ({ ...shown, name: `view ${n}` }) },
  deleteView: { read: 'getView' },
  updatePolicyDraft: { read: 'getPolicyDraft', body: (_, n, shown) => ({ ...shown, name: `draft ${n}` }) },
  deletePolicyDraft: { read: 'getPolicyDraft' },
  changeUser: {
    read: 'getUser',
    body: ({ user_id }, n) => ({ operation: 'update', user_id, user: { display_name: `name ${n}` } }),
  },
  suspendUser: { read: 'getUser', body: ({ user_id }) => ({ user_id }) },
  reactivateUser: { read: 'getUser', body: ({ user_id }) => ({ user_id }), before: 'suspendUser' },
  unlockUser: { read: 'getUser', body: ({ user_id }) => ({ user_id }) },
  setBreakGlass: { read: 'getUser', body: ({ user_id }) => ({ user_id, break_glass: true }) },
  changeGroup: {
    read: 'getGroup',
    body: ({ group_id }, n) => ({ operation: 'update', group_id, group: { description: `text ${n}` } }),
  },
  changeDevice: {
    read: 'getDevice',
    body: ({ device_id }, n) => ({ operation: 'update', device_id, device: { name: `laptop ${n}` } }),
  },
  updateGatewayPool: { read: 'getGatewayPool', body: (_, n, shown) => ({ ...shown, capacity: n + 1 }) },
  deleteGatewayPool: { read: 'getGatewayPool', before: 'deleteGateway' },
  updateIdentityProvider: { read: 'getIdentityProvider', body: (_, n, shown) => ({ ...shown, name: `provider ${n}` }) },
  deleteIdentityProvider: { read: 'getIdentityProvider' },
  updateDirectorySource: {
    read: 'getDirectorySource',
    body: (_, n, shown) => ({ ...shown, interval_minutes: 15 + n }),
  },
  deleteDirectorySource: { read: 'getDirectorySource' },
  updateGateway: { read: 'getGateway', body: (_, n, shown) => ({ ...shown, weight: n }) },
  deleteGateway: { read: 'getGateway' },
  drainGateway: { read: 'getGateway', body: () => ({ draining: true }) },
  revokeToken: { read: 'getToken', body: () => ({}) },
  replaceScimUser: { read: 'getScimUser', body: ({ scim_user_id }, n) => ({ userName: `${scim_user_id}-${n}` }) },
  patchScimUser: {
    read: 'getScimUser',
    body: (_, n) => ({ Operations: [{ op: 'replace', path: 'displayName', value: `name ${n}` }] }),
  },
  deleteScimUser: { read: 'getScimUser' },
  replaceScimGroup: {
    read: 'getScimGroup',
    body: ({ scim_group_id }, n) => ({ displayName: `${scim_group_id}-${n}` }),
  },
  patchScimGroup: {
    read: 'getScimGroup',
    body: ({ scim_group_id }, n) => ({
      Operations: [{ op: 'replace', path: 'displayName', value: `${scim_group_id}:${n}` }],
    }),
  },
  deleteScimGroup: { read: 'getScimGroup' },
  updateRelease: { read: 'getRelease', body: (_, n, shown) => ({ ...shown, notes: `notes ${n}` }) },
  changeRelease: {
    read: 'getRelease',
    body: (_, n) => ({ operation: 'roll_out', rollout: { percent: n, group_ids: [] } }),
  },
  updateSiemConnector: { read: 'getSiemConnector', body: (_, n, shown) => ({ ...shown, name: `soc ${n}` }) },
  deleteSiemConnector: { read: 'getSiemConnector' },
  updateSecuritySettings: {
    read: 'getSecuritySettings',
    body: (_, n, shown) => ({ ...shown, passwords: { min_length: 16 + n } }),
  },
  updateEnrollmentSettings: {
    read: 'getEnrollmentSettings',
    body: (_, n, shown) => ({
      ...shown,
      download_urls: { ...(shown.download_urls as object), linux: `https://downloads.example.com/${n}` },
    }),
  },
  updateRetention: {
    read: 'getRetention',
    body: (_, n, shown) => ({ ...shown, days: { ...(shown.days as object), audit: 30 + n } }),
  },
  updateNotificationSettings: {
    read: 'getNotificationSettings',
    body: (_, n, shown) => ({ ...shown, email: { ...(shown.email as object), recipients: [`a${n}@example.com`] } }),
  },
}
/** Writes without a visible change if nothing is locked; of concurrent ones, none wins. */
const withoutWinner: readonly string[] = ['unlockUser']

const taking = operations.filter(([, e]) => e.ifMatch)
const rowOf = (name: Operation): Row => rows[name] ?? assert.fail(`${name} takes If-Match and has no row here`)

async function prepare(kit: Kit, name: Operation) {
  const { read, body, before } = rowOf(name)
  const things = [name, read, ...(before ? [before] : [])].flatMap(objectKindsIn)
  const own = await makeSampleObjects(kit, kit.admin, things)
  const { ids } = own
  const callerOf = (operation: Operation) => callerFor(contract[operation], own, bearer(kit.adminKey))
  const send = async (operation: Operation, n: number, more: Record<string, string>, replica = kit.replicas[0]!) => {
    const shown = operation === name && body?.length === 3 ? (await get()).json : {}
    const { method, path } = contract[operation]
    const make = rows[operation]?.body
    return call(
      { ...kit, ...replica },
      { method, path: fillPath(path, ids) },
      (m, url) => ({ ...callerOf(operation)(m, url), ...more }),
      make?.(ids, n, shown),
    )
  }
  const get = () => call(kit, { method: 'GET', path: fillPath(contract[read].path, ids) }, callerOf(read))
  if (before) await send(before, 0, {})
  return { send, get, tag: async () => String((await get()).headers.etag) }
}
const isStale = (name: Operation, answer: ApiAnswer, current: string) =>
  (operationOf(name).protocol === 'scim'
    ? answer.status === 412
    : answer.status === 422 && JSON.stringify(answer.json.errors).includes('"field":"If-Match"')) &&
  String(answer.json.detail).includes(current)
const succeeds = (name: Operation, answer: ApiAnswer) => answer.status === (operationOf(name).status ?? 200)
/** Fields that follow from a change, or are measured. */
const moving = ['updated_at', 'settles_at', 'classes']
const malformed = ['', 'x', '7"', '"a" "b"', '*, "a"', `"${'x'.repeat(1100)}"`]
const versionIn = (tag: string) => tag.slice(1, tag.indexOf('.'))

test('every write with If-Match × {none, current, current in a list, stale, weak, *, malformed}', async (t) => {
  const kit = await startKit(t)
  const wrong: string[] = []
  for (const [i, [name, { ifMatch }]] of taking.entries()) {
    const { send, tag } = await prepare(kit, name)
    const current = await tag()
    const check = (what: string, answer: ApiAnswer, fits: boolean) => {
      if (!fits) wrong.push(`${name} ${what}: ${answer.status} ${answer.text.slice(0, 200)}`)
    }
    // The code that compares tags does not depend on the route. Each route is tested with some malformed tags, and with
    // stale ones.
    for (const bad of [malformed[i % malformed.length]!, malformed[(i + 2) % malformed.length]!]) {
      const answer = await send(name, 1, { 'if-match': bad })
      check(`malformed ${bad.slice(0, 9)}`, answer, answer.status === 400 && /If-Match/.test(answer.text))
    }
    for (const stale of ['"stale"', '"stale.x", "other.y"', `W/${current}`]) {
      const answer = await send(name, 1, { 'if-match': stale })
      check(stale, answer, isStale(name, answer, versionIn(current)))
    }
    if (ifMatch === 'required') {
      const answer = await send(name, 1, {})
      check('none', answer, answer.status === 422 && JSON.stringify(answer.json.errors).includes('"field":"If-Match"'))
    }
    if ((await tag()) !== current) wrong.push(`${name}: changed by what was refused`)
    const others = [
      ['none', {}],
      ['*', { 'if-match': '*' }],
      ['in a list', { 'if-match': `"other.x" ,${current}` }],
    ] as const
    const other = others[ifMatch === 'required' ? 1 : i % others.length]!
    for (const [what, more] of [other, ['current', { 'if-match': current }] as const]) {
      const its = name.startsWith('delete') ? await prepare(kit, name) : { send, tag }
      const given = 'if-match' in more ? { 'if-match': more['if-match'].replace(current, await its.tag()) } : more
      const answer = await its.send(name, what.length, given)
      check(what, answer, succeeds(name, answer))
    }
  }
  assert.equal(taking.length, Object.keys(rows).length)
  assert.deepEqual(wrong, [])
})

/** All of them run at once: each replica has 10 connections to the database. */
const racing = 8

test(`of ${racing} concurrent writes of the same version on two replicas one succeeds; the others get the current version`, async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const wrong: string[] = []
  for (const [name] of taking) {
    if (withoutWinner.includes(name)) continue
    const { send, tag } = await prepare(kit, name)
    const current = await tag()
    const answers = await times(racing, (i) => send(name, i, { 'if-match': current }, kit.replicas[i % 2]!))
    const done = answers.filter((a) => succeeds(name, a))
    const refused = answers.filter((a) => (a.status === 422 || a.status === 412) && /If-Match/.test(a.text))
    // A deleted object is no longer found.
    const gone =
      name === 'deleteGatewayPool' || name.startsWith('deleteScim') ? answers.filter((a) => a.status === 404) : []
    if (done.length !== 1 || refused.length + gone.length !== racing - 1)
      wrong.push(`${name}: ${answers.map((a) => a.status).join(' ')} ${answers.find((a) => a.status >= 500)?.text}`)
    if (name.startsWith('delete')) continue
    if (versionIn(await tag()) === versionIn(current)) wrong.push(`${name}: the version is as before`)
  }
  assert.deepEqual(wrong, [])
})

test('the answer of a GET can be sent back with PUT, with a change too; read-only fields cannot be changed', async (t) => {
  const kit = await startKit(t)
  const puts = operations.filter(([, e]) => e.method === 'PUT').map(([name]) => name)
  for (const name of puts) {
    const { read } = rowOf(name)
    const own = await makeSampleObjects(kit, kit.admin, [name, read].flatMap(objectKindsIn))
    const { ids } = own
    const path = fillPath(contract[name].path, ids)
    const asIs = callerFor(contract[name], own, bearer(kit.adminKey))
    const caller = operationOf(name).ifMatch === 'required' ? withAnyVersion(asIs) : asIs
    const shown = await call(kit, { method: 'GET', path: fillPath(contract[read].path, ids) }, caller)
    const back = await call(kit, { method: 'PUT', path }, caller, shown.json)
    assert.equal(back.status, 200, `${name}: ${back.text}`)
    const again = await call(kit, { method: 'GET', path }, caller)
    assert.equal(again.headers.etag, shown.headers.etag, `${name}: it changed`)
    // Without If-Match, an older GET may be written back: it restores the older state.
    const changed = (rows[name]?.body?.(ids, 1, shown.json) ?? {}) as Record<string, unknown>
    const moved = await call(kit, { method: 'PUT', path }, caller, changed)
    assert.equal(moved.status, 200, `${name}: ${moved.text}`)
    const older = await call(kit, { method: 'PUT', path }, caller, shown.json)
    assert.equal(older.status, 200, `${name}, as it was before: ${older.text}`)
    const { json: restored } = await call(kit, { method: 'GET', path: fillPath(contract[read].path, ids) }, caller)
    for (const field of Object.keys(changed).filter((f) => !moving.includes(f)))
      assert.deepEqual(restored[field], shown.json[field], `${name} ${field}`)
    for (const [field, wrongValue] of Object.entries({ tenant_id: 'tnt_x', created_at: '2020-01-01T00:00:00.000Z' })) {
      if (!(field in shown.json)) continue
      const refused = await call(kit, { method: 'PUT', path }, caller, { ...shown.json, [field]: wrongValue })
      assert.equal(refused.status, 422, `${name} ${field}: ${refused.text}`)
      assert.match(refused.text, new RegExp(`"field":"${field}"`))
    }
    const [first = ''] = Object.keys(rows[name]?.body?.(ids, 1, {}) as object)
    const { [first]: _, ...rest } = shown.json
    const partial = await call(kit, { method: 'PUT', path }, caller, rest)
    assert.equal(
      partial.status,
      operationOf(name).protocol === 'scim' ? 400 : 422,
      `${name} without ${first}: ${partial.text}`,
    )
  }
  assert.ok(puts.length >= 4)
})
