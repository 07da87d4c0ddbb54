import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditKinds } from '@holdfast/contract/audit-fields'
import { sql } from 'kysely'
import type { Tx } from '../../src/db/database.ts'
import { encodeId } from '../../src/kernel/ids.ts'
import type { EventFilter } from '../../src/modules/audit/events/conditions.queries.ts'
import { pathsOf } from '../../src/modules/audit/events/paths.queries.ts'
import { withClient } from '../support/database/test-database.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'

type Query = NonNullable<NonNullable<Parameters<Kit['admin']['listAuditEvents']>[0]>['query']>
const start = Date.UTC(2026, 0, 31, 12)
const second = 1000
/** More events than are counted one by one, and than a sample has, for each common filter. */
const count = 24_000
const at = (i: number) => new Date(start + i * second).toISOString()

/**
 * One event per second; about a thousand share one time, as in a report of a gateway. Half of the events are refused.
 * Those have another actor, except for two.
 */
const rows = `
  select i, timestamptz '2026-01-31T12:00Z'
      + case when i between 2000 and 3000 then 2000 else i end * interval '1 second' as at,
    case i % 2 when 0 then 'api_key.used' else 'gateway_report.started' end as kind,
    case i % 2 when 0 then 'success' else 'refused' end as outcome,
    case when i = any('{3001,17001}') then 'usr_both' when i % 2 = 0 then 'usr_both' else 'usr_other' end as actor,
    case when i % 9000 = 2500 then 'rare ' else 'laptop ' end || i as target
  from generate_series(1, ${count}) as i`
/** Inserts the events and returns the sequence number before the first. */
const fill = (kit: Kit, tenant: string) =>
  withClient(kit.databaseUrl, async (owner) => {
    const ids = Array.from({ length: count }, () => crypto.randomUUID())
    await owner.query(
      `insert into audit_arrivals (tenant_id, event_id, at, kind, outcome, actor_id, target_name, source_ip, record)
       select $1, id, at, kind, outcome, actor, target, '192.0.2.1', '{"actor":{"id":"' || actor
         || '","name":null,"type":"user"},"details":{"note":"'
         || case when i = any('{77,9000}') then 'thimble' else 'hay' end || case when i % 450 = 7 then ' needle' else '' end
         || '"},"event_id":"' || public_id || '","kind":"' || kind || '","origin":"api","outcome":"' || outcome
         || '","request_id":null,"source_ip":"192.0.2.1","target":{"id":null,"name":"' || target
         || '","type":"device"},"tenant_id":"' || $2 || '","timestamp":"'
         || to_char(at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '","user_agent":null'
         || case when i = any('{78,9001}') then ',"username":"Old Cobbler"}' else '}' end
       from (${rows}) as e join unnest($3::uuid[], $4::text[]) with ordinality as ids (id, public_id, i) using (i)
       order by i`,
      [tenant, encodeId('tenant', tenant), ids, ids.map((id) => encodeId('audit_event', id))],
    )
    await until(async () => (await owner.query('select from audit_arrivals limit 1')).rowCount === 0)
    const words = `select from audit_words where tenant_id = '${tenant}'`
    await until(async () => (await owner.query(words)).rowCount! >= Math.floor(count / 1024), 'their words are read')
    await owner.query('analyze audit_log')
    const first = `select seq::int from audit_log where tenant_id = $1 and target_name_key = 'laptop 1'`
    return Number((await owner.query(first, [tenant])).rows[0].seq) - 1
  })

type Node = { 'Actual Rows': number; 'Actual Loops': number; 'Relation Name'?: string; Plans?: Node[] }
/** Number of rows that PostgreSQL reads for the first path of a filter. */
async function rowsRead(kit: Kit, tenant: Kit['tenant'], filter: EventFilter): Promise<number> {
  const read = async (tx: Tx) => sql`select * from (${pathsOf(tenant, filter)[0]!.events}) as e`.compile(tx)
  const { sql: text, parameters } = await kit.db.inTenant(tenant, read)
  const { rows } = await withClient(kit.databaseUrl, (owner) =>
    owner.query<{ 'QUERY PLAN': { Plan: Node }[] }>(`explain (analyze, format json) ${text}`, [...parameters]),
  )
  const sum = ({ Plans = [], ...node }: Node): number =>
    (node['Relation Name']?.startsWith('audit_log') ? node['Actual Rows'] * node['Actual Loops'] : 0) +
    Plans.reduce((all, plan) => all + sum(plan), 0)
  return sum(rows[0]!['QUERY PLAN'][0]!.Plan)
}

test('queries of a log longer than the limits of counting and sampling', async (t) => {
  const kit = await startKit(t)
  const tenant = await kit.newTenant()
  const before = await fill(kit, tenant)
  /** Reads all pages. Returns the sequence numbers and the number of pages. */
  const all = async (query: Query) => {
    const client = await kit.as('auditor', tenant)
    const places: number[] = []
    let pages = 0
    for (let cursor: string | null | undefined; cursor !== null; pages++) {
      const page = await client.listAuditEvents({ query: { limit: 100, ...query, ...(cursor && { cursor }) } })
      places.push(...page.items.map((e) => e.seq - before))
      cursor = page.next_cursor
    }
    return { places, pages }
  }
  const window = { from: at(0), to: at(count + 1) }
  const histogram = async (query: object, buckets: number) => {
    const client = await kit.as('auditor', tenant)
    const { estimated, buckets: found } = await client.auditHistogram({ query: { ...window, ...query, buckets } })
    return { estimated, counts: found.map((b) => b.count) }
  }

  await t.test('two frequent filters that rarely match together find all matches', async () => {
    const { places } = await all({ ...window, actor_id: 'usr_both', outcome: 'refused', sort: 'timestamp' })
    assert.deepEqual(places, [3001, 17_001])
  })

  await t.test('a field of an event is found by its words, in the blocks that contain them', async () => {
    for (const sort of ['seq', 'timestamp'] as const) {
      const found = await all({ username: 'old cobbler', sort })
      assert.deepEqual(found.places, [78, 9001])
      assert.ok(found.pages <= 2, `${found.pages} pages of a record of ${count}`)
      // These blocks contain the word, but no event that has it as this field.
      const none = await all({ operation: 'cobbler', sort })
      assert.deepEqual(none.places, [])
      assert.ok(none.pages <= 2, `${none.pages} pages of a record of ${count}`)
    }
  })

  await t.test('in order of sequence numbers a time window is reached without a walk', async () => {
    // No narrower window: fewer events count as few.
    const late = { from: at(19_000), to: at(23_500) }
    const expected = Array.from({ length: 4500 }, (_, i) => 19_000 + i)
    for (const [sort, inOrder] of [
      ['seq', expected],
      ['-seq', expected.toReversed()],
    ] as const) {
      const { places, pages } = await all({ ...late, sort, limit: 200 })
      assert.deepEqual(places, inOrder)
      assert.ok(pages <= 25, `${pages} pages of 200`)
    }
    const rare = await all({ from: at(20_000), to: at(20_010), kind: 'api_key.used', sort: 'seq' })
    assert.deepEqual(rare, { places: [20_000, 20_002, 20_004, 20_006, 20_008], pages: 1 })
  })

  await t.test('in order of time a sequence number is reached without a walk', async () => {
    const few = await all({ ...window, after_seq: before + count - 5, actor_id: 'usr_both' })
    assert.deepEqual(few, { places: [count, count - 2, count - 4], pages: 1 })
    const after = count - 5000
    const { places, pages } = await all({
      after_seq: before + after,
      actor_id: 'usr_both',
      outcome: 'refused',
      to: window.to,
    })
    assert.deepEqual(places, [])
    assert.ok(pages <= 3, `${pages} pages`)
    const many = await all({ after_seq: before + after, to: window.to, limit: 200 })
    assert.deepEqual(
      many.places,
      Array.from({ length: 5000 }, (_, i) => count - i),
    )
  })

  await t.test('a prefix search for a rare kind reads no other events of the same time', async () => {
    const { places } = await all({ q: 'rare 2', from: window.from, sort: 'seq' })
    assert.deepEqual(places, [2500, 20_500])
    const both = await all({ q: 'gateway_report.started', from: at(1999), to: at(2001), sort: 'seq', limit: 200 })
    assert.equal(both.places.length, 501, 'once, however it is found')
    assert.ok((await rowsRead(kit, tenant, { q: 'rare 2' })) <= 4)
  })

  await t.test('a filter by many kinds walks in order, and rare kinds are found by the index', async () => {
    const kinds = 'user.*,device.*,policy.*,api_key.*'
    const { places } = await all({ from: at(14_000), to: at(23_000), kind: kinds, limit: 200 })
    assert.equal(places.length, 4500)
    const none = await all({ ...window, kind: 'user.*,device.*,policy.*' })
    assert.deepEqual(none, { places: [], pages: 1 })
    const named = auditKinds.filter((kind) => /^(user|device|policy|api_key)\./.test(kind))
    assert.equal(pathsOf(tenant, { kinds: named })[0]?.arms.length, 0, 'not along each of their indexes')
    assert.equal(pathsOf(tenant, { kinds: named.slice(0, 3) })[0]?.arms.length, 3)
    assert.ok((await rowsRead(kit, tenant, { kinds: ['user.changed', 'device.changed'] })) === 0)
  })

  await t.test('a histogram counts a rare text exactly, and estimates a frequent one by samples', async () => {
    const thimble = await histogram({ text: 'thimble' }, 24)
    assert.equal(thimble.estimated, false)
    assert.deepEqual(
      thimble.counts.map((n, i) => [i, n]).filter(([, n]) => n),
      [
        [0, 1],
        [8, 1],
      ],
    )
    for (const [query, share] of [
      [{ text: 'hay' }, 1],
      [{ text: 'needle' }, 1 / 450],
      [{ kind: 'api_key.used' }, 1 / 2],
      [{ actor_id: 'usr_both', kind: 'api_key.used' }, 1 / 2],
      [{}, 1],
    ] as const) {
      const { estimated, counts } = await histogram(query, 4)
      assert.equal(estimated, true, JSON.stringify(query))
      const sum = counts.reduce((a, b) => a + b, 0)
      const expected = share * count
      assert.ok(Math.abs(sum - expected) <= expected / 3, `${JSON.stringify(query)}: ${sum} of ${expected}`)
    }
    const client = await kit.as('auditor', tenant)
    const { facets } = await client.auditHistogram({ query: { ...window, buckets: 4, facets: 'kind,actor' } })
    for (const { facet, values } of facets)
      for (const { value, count: found } of values.slice(0, 2))
        assert.ok(Math.abs(found - count / 2) <= count / 6, `${facet} ${value}: ${found} of ${count}`)
  })
})
