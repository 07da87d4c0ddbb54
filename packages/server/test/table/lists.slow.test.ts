import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations } from '@holdfast/contract'
import pg from 'pg'
import { uuidv7 } from 'uuidv7'
import { connectionOptions } from '../../src/db/database.ts'
import { decodeId, encodeId } from '../../src/kernel/ids.ts'
import { bearer, call, populate } from '../support/actors/all-callers.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { fillLists } from './lists.fixture.ts'

/** Set it higher by hand for measurements: the number of rows read must not grow with it. */
const rows = Number(process.env.HOLDFAST_LIST_ROWS ?? 40_000)
/**
 * The most rows that a page of 50 may read, for any filter, and that one scan of the named kind may read. Counts in an
 * index do not add up.
 */
const ofPage = { all: 20_500, kind: /^Seq Scan$/, each: 12_000, countsAreFree: true }
/**
 * The same for facets and totals. They look at 10,000 index entries for each filter, then examine 5,000 rows for facets
 * or 10,000 for a total, in up to 7 tables.
 */
const ofCount = { all: 30_000, kind: /Scan$/, each: 10_100, countsAreFree: false }

type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  'Rows Removed by Filter'?: number
  'Plan Rows'?: number
  Plans?: Plan[]
}
type Choices = { enum?: string[]; anyOf?: { const: unknown }[]; type?: string }
type Properties = Record<string, Choices>
const choices = (p: Choices | undefined) => p?.enum ?? p?.anyOf?.map((o) => String(o.const))
const propertiesOf = (e: { query?: unknown }) =>
  (e.query as { properties?: unknown } | undefined)?.properties as Properties | undefined
const nodesOf = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

test(`no list scans: every filter × order at ${rows} rows is served by indexes`, async (t) => {
  const kit = await startKit(t, { config: { databaseConnections: 2 } })
  const { ids: own } = await populate(kit, kit.admin)
  const ids = await fillLists(kit, rows)
  const sent: { text: string; values: unknown[] }[] = []
  const { query } = pg.Client.prototype
  t.after(() => {
    pg.Client.prototype.query = query
  })
  pg.Client.prototype.query = function (this: pg.Client, ...given: Parameters<typeof query>) {
    const [first, second] = given as readonly unknown[]
    const { text, values } = (typeof first === 'string' ? { text: first, values: second } : first) as {
      text: string
      values?: unknown[]
    }
    if (/^\s*(select|with)/i.test(text)) sent.push({ text, values: values ?? [] })
    return Reflect.apply(query, this, given)
  } as typeof query

  const values: Record<string, readonly string[]> = {
    ...ids,
    q: ['lap', 'z', 'api_key', 'account', 'person', 'key_r', 'gro', 'nothing'],
    provider: ['Corp', 'rare', 'none'],
    tag: ['common', 'rare', 'none'],
    version: ['1.0.0', '1.9.0'],
    mfa: ['true', 'false'],
    locked: ['true', 'false'],
    has_devices: ['true', 'false'],
    shared: ['true', 'false'],
    seen_within: ['86400'],
    unseen_for: ['86400'],
    unused_for: ['86400'],
    client_version: ['1.0.0', '1.9.0'],
    client_version_before: ['1.9.0', '2.0.0'],
    os_version: ['14.1'],
    renews_itself: ['true', 'false'],
    within_days: ['30'],
    since: [new Date(Date.now() - 600_000).toISOString()],
    kind: ['api_key.used', 'login.failed', 'login.*,account.locked'],
    actor_type: ['api_key', 'job'],
    target_type: ['device'],
    text: ['success', 'needle', 'api job'],
    operation: ['listUsers', 'none'],
    reason: ['wrong_password', 'success'],
    username: ['ana', 'api_key'],
    after_seq: ['0', '1000100'],
    actor_id: ['key_1', 'key_rare'],
    target_id: ['dev_1', 'dev_rare'],
    source_ip: ['192.0.2.10', '192.0.2.7'],
    request_id: ['req_1'],
    plan_id: [encodeId('plan', uuidv7())],
    from: [new Date(Date.now() - 86_400_000).toISOString()],
    to: [new Date(Date.now() - (rows - 100) * 10_000).toISOString()],
  }
  const explain = new pg.Client({ connectionString: kit.databaseUrl, options: connectionOptions })
  await explain.connect()
  await explain.query(`begin; set local holdfast.tenant = '${kit.tenant}'`)
  const seen = new Set<string>()
  const bad: string[] = []
  let asked = 0
  let counted = 0
  let most = 0

  const check = async (what: string, bound = ofPage) => {
    await explain.query('set local enable_nestloop = on')
    for (const { text, values: given } of sent.splice(0)) {
      // A setting for the statements after it.
      if (/^select set_config\(/.test(text)) await explain.query(text, given)
      if (bound.countsAreFree && /^\s*with/i.test(text)) continue
      if (!/tenant_id/.test(text) || seen.has(text + JSON.stringify(given))) continue
      seen.add(text + JSON.stringify(given))
      const { rows: answer } = await explain.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
        `explain (analyze, timing off, summary off, format json) ${text}`,
        given,
      )
      const nodes = nodesOf(answer[0]!['QUERY PLAN'][0]!.Plan)
      const looked = (n: Plan) =>
        ((n['Actual Rows'] ?? 0) + (n['Rows Removed by Filter'] ?? 0)) * (n['Actual Loops'] ?? 1)
      const scans = nodes.filter((n) => n['Relation Name'] && bound.kind.test(n['Node Type']) && looked(n) > bound.each)
      // Counts must use an index without its table.
      const isCounted = (n: Plan) => bound.countsAreFree && n['Node Type'] === 'Index Only Scan' && /count\(/.test(text)
      const read = nodes.filter(
        (n) => /Scan$/.test(n['Node Type']) && !isCounted(n) && (bound.countsAreFree || n['Relation Name']),
      )
      const total = read.reduce((sum, n) => sum + looked(n), 0)
      most = Math.max(most, total)
      if (scans.length > 0) bad.push(`${what}: scans ${scans.map((n) => n['Relation Name']).join(', ')}`)
      else if (total > bound.all) bad.push(`${what}: looks at ${total} rows`)
    }
  }

  /** No filter, and each filter with each value. */
  const questionsOf = (name: string, properties: Properties): string[] => [
    '',
    ...Object.keys(properties)
      .filter((p) => !['limit', 'cursor', 'sort'].includes(p))
      .flatMap((f) => {
        const of =
          f === 'kind' && name !== 'listAuditEvents' ? choices(properties[f]) : (values[f] ?? choices(properties[f]))
        assert.ok(of, `${name}: say in this test what to ask for by ${f}`)
        return of.map((v) => `${f}=${encodeURIComponent(v)}`)
      }),
  ]
  const times: { ms: number; what: string }[] = []
  for (const [name, e] of operations) {
    const properties = propertiesOf(e)
    if (e.method !== 'GET' || !properties?.limit || !properties.cursor) continue
    // An export uses the queries of the other lists.
    if (name === 'exportOperations') continue
    const sorts = choices(properties.sort) ?? ['']
    for (const question of questionsOf(name, properties))
      for (const sort of sorts) {
        const path = e.path
          .replace('{pool_id}', ids.pool_id[0]!)
          .replace('{release_id}', ids.release_id[0]!)
          .replace('{connector_id}', own.connector_id)
          .replace('{bundle_id}', own.bundle_id)
          // Devices that concern a gateway are found among its sessions: use a gateway with few of them.
          .replace('{gateway_id}', ids.gateway_id.at(-1)!)
        const ask = async (more: string) => {
          const started = performance.now()
          const answer = await call(
            kit,
            { method: 'GET', path },
            bearer(kit.adminKey),
            undefined,
            `?${question}${sort && `&sort=${sort}`}${more}`,
          )
          const ms = performance.now() - started
          assert.equal(answer.status, 200, `${name} ${question} ${answer.text.slice(0, 200)}`)
          asked++
          times.push({ ms, what: `${name} ${question} ${sort}` })
          await check(`${name} ${question} ${sort}${more && ' next page'}`)
          return answer.json.next_cursor as string | null
        }
        const cursor = await ask('')
        if (cursor && sort === sorts[0]) await ask(`&cursor=${encodeURIComponent(cursor)}`)
      }
  }
  // A lock of a group with half of all users decides on the status of each of their devices.
  await explain.query(
    `insert into locks (tenant_id, lock_id, target_type, target_id, reason, created_by, created_at)
      select $1, gen_random_uuid(), 'group', $2, 'test', '{}', now()`,
    [kit.tenant, decodeId('group', ids.group_id[0]!)],
  )
  await explain.query(`commit; begin; set local holdfast.tenant = '${kit.tenant}'`)
  for (const [name, e] of operations) {
    const properties = propertiesOf(e)
    if (e.method !== 'GET' || !properties || !e.path.endsWith('/facets')) continue
    for (const question of questionsOf(name, properties))
      for (const asked of [
        `${e.path}?${question}`,
        `${e.path.replace('/facets', '')}?count=estimate&limit=1&${question}`,
      ]) {
        const answer = await call(kit, { method: 'GET', path: asked }, bearer(kit.adminKey))
        assert.equal(answer.status, 200, `${asked} ${answer.text.slice(0, 200)}`)
        counted++
        await check(asked, ofCount)
      }
  }
  assert.ok(counted > 100, 'facets of devices and users')
  // Reads that are no lists, but search tables of the same size.
  const [user, [provider]] = [ids.user_id[0]!, ids.provider_id]
  for (const path of [
    `/v1/admin/users/${user}/identities`,
    `/v1/admin/settings/providers/${provider}`,
    `/v1/mobile/auth/oidc/providers`,
    `/admin/login`,
    `/admin/login/oidc?provider=${provider}`,
  ]) {
    const answer = await call(kit, { method: 'GET', path }, bearer(kit.adminKey))
    assert.ok(answer.status < 404, `${path} ${answer.text.slice(0, 200)}`)
    await check(path)
  }
  await explain.query('rollback')
  await explain.end()
  times.sort((a, b) => b.ms - a.ms)
  t.diagnostic(`${asked} pages, ${counted} counts, ${seen.size} statements; at most ${most} rows looked at; slowest:`)
  for (const { ms, what } of times.slice(0, 8)) t.diagnostic(`${Math.round(ms)} ms ${what}`)
  assert.deepEqual(bad, [])
})
