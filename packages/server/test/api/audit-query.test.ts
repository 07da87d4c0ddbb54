import assert from 'node:assert/strict'
import { test } from 'node:test'
import { uuidv7 } from 'uuidv7'
import { encodeId } from '../../src/kernel/ids.ts'
import { refused } from '../support/actors/gateways.ts'
import { changeRecord } from '../support/database/audit-log.ts'
import { withClient } from '../support/database/test-database.ts'
import { fill, minute, start } from '../support/database/varied-events.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'

type Client = Kit['admin']
type Query = NonNullable<NonNullable<Parameters<Kit['admin']['listAuditEvents']>[0]>['query']>
async function all(client: Client, query: Query) {
  const found: Awaited<ReturnType<Client['listAuditEvents']>>['items'] = []
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await client.listAuditEvents({ query: { limit: 25, ...query, ...(cursor && { cursor }) } })
    found.push(...page.items)
    cursor = page.next_cursor
  }
  return found
}

test('the record is asked for what is in it', async (t) => {
  const kit = await startKit(t)
  await t.test('a poller goes on behind the last place that it has seen, and misses nothing', () => byPolling(kit))
  await t.test('one event by its id; that of another tenant is not there', () => byId(kit))
  await t.test('what lies behind the head of the record is not in it, whoever put it there', () => behindHead(kit))
  await t.test('what can not be asked for is refused by name', () => refusals(kit))
  await t.test('every filter, alone and with others, in every order, finds what fits and nothing else', () =>
    byFilter(kit),
  )
  await t.test('a search by text finds the same in blocks that are read, in those that are not, and across them', () =>
    byText(kit),
  )
})

async function byPolling(kit: Kit): Promise<void> {
  await kit.admin.generateToken({ body: { name: 'first' } })
  const seen: number[] = []
  const poll = async () => {
    for (const e of await all(kit.admin, { sort: 'seq', after_seq: seen.at(-1) ?? 0 })) seen.push(e.seq)
  }
  await poll()
  for (let i = 0; i < 3; i++) {
    const before = seen.length
    await kit.admin.generateToken({ body: { name: `token ${i}` } })
    await poll()
    assert.ok(seen.length > before)
  }
  assert.deepEqual(
    seen,
    seen.map((_, i) => i + 1),
  )
}

async function byId(kit: Kit): Promise<void> {
  const { enrollment_token } = await kit.admin.generateToken({ body: { name: 'one' } })
  const { items } = await kit.admin.listAuditEvents({ query: { target_id: enrollment_token.token_id } })
  const params = { event_id: items[0]!.event_id }
  assert.deepEqual(await kit.admin.getAuditEvent({ params }), items[0])
  const other = kit.clientFor(await kit.keyFor('auditor', await kit.newTenant()))
  await assert.rejects(other.getAuditEvent({ params }), refused(404))
  await assert.rejects(kit.admin.getAuditEvent({ params: { event_id: 'evt_x' } }), refused(404))
}

async function behindHead(kit: Kit): Promise<void> {
  const tenant = await kit.newTenant()
  const client = await kit.as('auditor', tenant)
  await fill(kit, tenant, 40)
  const { items } = await client.listAuditEvents({ query: { kind: 'user.changed', limit: 1 } })
  const forged = uuidv7()
  await changeRecord(
    kit,
    `insert into audit_log select tenant_id, seq + 1000000000, '${forged}', '2026-01-31T12:20Z', 'user.changed', 'failed', 'usr_0',
       actor_name_key, target_id, target_name_key, source_ip, 'req_forged', record, hash from audit_log
     where tenant_id = '${tenant}' and seq = ${items[0]!.seq}`,
  )
  const queries: Query[] = [{}, { kind: 'user.changed' }, { outcome: 'failed' }, { actor_id: 'usr_0' }]
  queries.push(
    { q: 'usr_0' },
    { text: 'hay' },
    { request_id: 'req_forged' },
    { from: '2026-01-01T00:00:00Z' },
    { after_seq: 10 },
  )
  for (const query of queries)
    for (const sort of ['-timestamp', 'seq', '-seq'] as const) {
      const places = (await all(client, { ...query, sort })).map((e) => e.seq)
      assert.ok(Math.max(0, ...places) < 1000, `${JSON.stringify(query)} ${sort}: ${places}`)
      assert.equal(new Set(places).size, places.length)
    }
  const window = { from: '2026-01-31T12:20:00Z', to: '2026-01-31T12:20:01Z' }
  const { buckets } = await client.auditHistogram({ query: { ...window, kind: 'user.changed', buckets: 1 } })
  assert.equal(buckets[0]!.count, (await all(client, { ...window, kind: 'user.changed' })).length)
  const params = { event_id: encodeId('audit_event', forged) }
  await assert.rejects(client.getAuditEvent({ params }), refused(404))
  await assert.rejects(client.proveAuditEvent({ params }), refused(404))
}

async function refusals(kit: Kit): Promise<void> {
  for (const [query, detail] of [
    [{ kind: 'login.nothing' }, /kind/],
    [{ kind: 'login.failed,' }, /kind/],
    [{ kind: '*' }, /kind/],
    [{ from: '2016-12-31T23:59:60Z' }, /from/],
    [{ after_seq: -1 }, /after_seq/],
  ] as [Query, RegExp][])
    await assert.rejects(kit.admin.listAuditEvents({ query }), refused(400, detail))
  const at = new Date().toISOString()
  await assert.rejects(kit.admin.auditHistogram({ query: { from: at, to: at } }), refused(400, /to:/))
  for (const facets of ['kind,kind', 'target', 'kind,'])
    await assert.rejects(kit.admin.auditHistogram({ query: { facets } }), refused(400, /facets/))
  const first = await kit.admin.listAuditEvents({ query: { limit: 1 } })
  await assert.rejects(
    kit.admin.listAuditEvents({ query: { limit: 1, sort: 'seq', cursor: first.next_cursor! } }),
    refused(400, /cursor/),
  )
}

async function byFilter(kit: Kit): Promise<void> {
  const events = await fill(kit, kit.tenant, 60)
  const window = { from: new Date(start + 20 * minute).toISOString(), to: new Date(start + 50 * minute).toISOString() }
  const own = { from: new Date(start - 40 * minute).toISOString(), to: new Date(start + 120 * minute).toISOString() }
  const fits: [Query, (e: (typeof events)[number], i: number) => boolean][] = [
    [{}, () => true],
    [{ kind: 'login.failed' }, (e) => e.kind === 'login.failed'],
    [{ kind: 'login.*,user.changed' }, (e) => e.kind !== 'device.changed'],
    [{ actor_id: 'usr_3' }, (e) => e.actor === 'usr_3'],
    [{ actor_type: 'session' }, (e) => e.type === 'session'],
    [{ actor_type: 'job' }, () => false],
    [{ target_id: 'dev_6' }, (e) => e.target === 'dev_6'],
    [{ target_type: 'device' }, () => true],
    [{ source_ip: '192.0.2.5' }, (e) => e.source === '192.0.2.5'],
    [{ outcome: 'refused' }, (e) => e.outcome === 'refused'],
    [{ outcome: 'success' }, (e) => e.outcome === 'success'],
    [{ origin: 'gateway' }, (e) => e.origin === 'gateway'],
    [{ origin: 'job' }, () => false],
    [{ request_id: 'req_12' }, (_, i) => i === 12],
    [window, (e) => e.at >= new Date(window.from) && e.at < new Date(window.to)],
    [{ q: 'zoë usr_2' }, (e) => e.actor === 'usr_2'],
    [{ text: 'nEEDLE' }, (_, i) => i % 50 === 7],
    [{ text: 'needle usr_2' }, (e, i) => i % 50 === 7 && e.actor === 'usr_2'],
    [{ text: '"them" 100% \\ hay' }, (_, i) => i % 50 !== 7],
    [{ text: '"them" Number' }, () => true],
    [{ text: 'need' }, () => false],
    [{ text: '192.0.2.5' }, (e) => e.source === '192.0.2.5'],
    [{ text: '92.0.2.5' }, () => false],
    [{ text: 'Zoë' }, () => true],
    [{ operation: 'op-3' }, (_, i) => i % 8 === 3],
    [{ operation: 'op-9' }, () => false],
    [{ operation: 'op' }, () => false],
    [{ reason: 'why_3' }, (_, i) => i % 6 === 3],
    [{ reason: 'oidc:why_2' }, (_, i) => i % 6 === 2],
    [{ reason: 'why_9' }, () => false],
    [{ reason: 'why_2' }, () => false],
    [{ username: 'ana 8' }, (_, i) => i % 12 === 8],
    [{ username: 'Ana 4' }, (_, i) => i % 12 === 4 || i === 5],
    [{ username: '%' }, () => false],
    [{ operation: 'op-4', reason: 'oidc:why_4', username: 'ana 4' }, (_, i) => i % 8 === 4 && i % 12 === 4],
    [{ text: '1__' }, () => false],
    [
      { kind: 'login.*', actor_id: 'usr_1', outcome: 'refused', ...window },
      (e) =>
        e.kind.startsWith('login') &&
        e.actor === 'usr_1' &&
        e.outcome === 'refused' &&
        e.at >= new Date(window.from) &&
        e.at < new Date(window.to),
    ],
    [{ q: 'dev_6', origin: 'api', text: 'Number' }, (e) => e.target === 'dev_6' && e.origin === 'api'],
  ]
  const seqs = new Map((await all(kit.admin, { ...own, sort: 'seq', limit: 200 })).map((e) => [e.event_id, e.seq]))
  for (const [n, [query, fit]] of fits.entries()) {
    const expected = events.filter(fit).map((e) => encodeId('audit_event', e.id))
    const bounded = { ...own, ...query }
    const place = new Map(events.map((e) => [encodeId('audit_event', e.id), e]))
    const byTime = (a: string, b: string) =>
      place.get(a)!.at.getTime() - place.get(b)!.at.getTime() || (place.get(a)!.id < place.get(b)!.id ? -1 : 1)
    const bySeq = (a: string, b: string) => seqs.get(a)! - seqs.get(b)!
    const orders = [
      ['timestamp', byTime],
      ['-timestamp', (a: string, b: string) => byTime(b, a)],
      ['seq', bySeq],
      ['-seq', (a: string, b: string) => bySeq(b, a)],
    ] as const
    // Each filter in one of them, in turn.
    const [sort, order] = orders[n % 4]!
    assert.deepEqual(
      (await all(kit.admin, { ...bounded, sort })).map((e) => e.event_id),
      expected.toSorted(order),
      `${JSON.stringify(query)} ${sort}`,
    )
    const facets = 'outcome,kind,actor,origin'
    const histogram = await kit.admin.auditHistogram({ query: { ...bounded, buckets: 16, facets } })
    assert.equal(histogram.estimated, false)
    assert.deepEqual(histogram.facets.map((f) => f.facet).join(), facets)
    for (const { facet, values, other } of histogram.facets) {
      const fitting = Map.groupBy(events.filter(fit), (e) => e[facet])
      const counts = [...fitting].map(([value, of]) => [value, of.length] as const)
      assert.deepEqual(
        values.map((v) => [v.value, v.count, v.name]),
        counts
          .sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
          .map(([value, n]) => [value, n, facet === 'actor' ? `Zoë ${value}` : null]),
        `${facet} ${JSON.stringify(query)}`,
      )
      assert.equal(other, 0)
      assert.deepEqual(
        histogram.buckets.map((_, i) => values.reduce((sum, v) => sum + v.buckets[i]!, 0)),
        histogram.buckets.map((b) => b.count),
      )
    }
    const { from, to } = bounded
    const length = (Date.parse(to) - Date.parse(from)) / 16
    assert.deepEqual(
      histogram.buckets.map((b) => b.count),
      Array.from({ length: 16 }, (_, n) => {
        const since = Date.parse(from) + n * length
        return events.filter((e, i) => fit(e, i) && +e.at >= since && +e.at < since + length).length
      }),
      JSON.stringify(query),
    )
  }
}

async function byText(kit: Kit): Promise<void> {
  const tenant = await kit.newTenant()
  const client = await kit.as('auditor', tenant)
  const count = 5300
  const events = await fill(kit, tenant, count)
  const own = { from: new Date(start - 40 * minute).toISOString(), to: new Date(start + count * minute).toISOString() }
  const search = async (text: string, sort: NonNullable<Query['sort']>) =>
    (await all(client, { ...own, text, sort, limit: 60 })).map((e) => e.event_id)
  const expected = (fits: (i: number) => boolean) =>
    events.filter((_, i) => fits(i)).map((e) => encodeId('audit_event', e.id))
  const byTime = events
    .toSorted((a, b) => +a.at - +b.at || (a.id < b.id ? -1 : 1))
    .map((e) => encodeId('audit_event', e.id))
  const place = new Map(byTime.map((id, i) => [id, i]))
  const orders = {
    seq: (ids: string[]) => ids,
    timestamp: (ids: string[]) => ids.toSorted((a, b) => place.get(a)! - place.get(b)!),
    '-seq': (ids: string[]) => ids.toReversed(),
    '-timestamp': (ids: string[]) => orders.timestamp(ids).toReversed(),
  }
  const sorts = ['seq', 'timestamp', '-seq', '-timestamp'] as const
  const judge = async (turn: number, all: readonly (typeof sorts)[number][]) => {
    // One word that is in every block, in all orders; each rare word in one order.
    for (const sort of all)
      assert.deepEqual(await search('NEEDLE', sort), orders[sort](expected((i) => i % 50 === 7)), sort)
    const rare = [
      ['thimble', (i: number) => i % 1900 === 77],
      ['needle thimble', (i: number) => i % 50 === 7 && i % 1900 === 77],
      [String(count - 1), (i: number) => i === count - 1],
      ['haystack', () => false],
    ] as const
    for (const [n, [text, fits]] of rare.entries()) {
      const sort = sorts[(n + turn) % 4]!
      assert.deepEqual(await search(text, sort), orders[sort](expected(fits)), `${text} ${sort}`)
    }
  }
  await client.listAuditEvents({ query: { limit: 1 } })
  await until(async () => (await blocksOf(kit, tenant)) >= 5)
  await judge(0, sorts)
  await withClient(kit.databaseUrl, (owner) =>
    owner.query('delete from audit_words where tenant_id = $1 and block > 0', [tenant]),
  )
  await judge(1, ['timestamp', '-seq'])
}
const blocksOf = (kit: Kit, tenant: Kit['tenant']) =>
  withClient(
    kit.databaseUrl,
    async (owner) => (await owner.query('select from audit_words where tenant_id = $1', [tenant])).rowCount ?? 0,
  )
