import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { encodeId } from '../../src/kernel/ids.ts'
import { enroll } from '../support/actors/devices.ts'
import { refused } from '../support/clients/answers.ts'
import { createClock, runJob, startKit } from '../support/deployment/deployment.ts'
import { diskCheck, policyWithChecks, publishChecks } from '../support/domain/posture.ts'

test('an administrator sees condition and facts of each check; the device its failed checks and remediation', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const laptop = await enroll(kit, 'laptop', { now: clock.now })
  const params = { device_id: laptop.id }
  await publishChecks(kit, {
    disk: { ...diskCheck, severity: 'high', freshness_seconds: 1800 },
    av: { expression: 'within_last(av.updated_at, 600)', enforcement: 'warn' },
    quiet: { expression: '!jailbroken', enforcement: 'audit' },
    mac: { expression: 'secure_boot', platforms: ['macos', 'ios'] },
  })
  const none = await kit.admin.getDevicePosture({ params })
  assert.deepEqual(
    [none.verdict, none.reported_at, none.valid_until, none.facts, ...none.checks.map((c) => c.reason_code)],
    ['unknown', null, null, {}, ...['no_report', 'no_report', 'not_applicable', 'no_report']],
  )

  const at = clock.now().getTime()
  const updated = new Date(at - 300_000).toISOString()
  const facts = { 'disk.encrypted': false, 'av.updated_at': updated, uptime_seconds: 7 }
  const answer = await laptop.client.reportPosture({ body: { facts } })
  assert.deepEqual(answer.checks, [
    { id: 'av', passed: true, remediation: null },
    { id: 'disk', passed: false, remediation: 'Turn on disk encryption.' },
  ])
  const shown = await kit.admin.getDevicePosture({ params })
  assert.deepEqual([shown.verdict, shown.channel, shown.version, shown.facts], ['non_compliant', 'stable', 1, facts])
  const [av, encrypted, mac, quiet] = shown.checks
  assert.deepEqual(encrypted, {
    check_id: 'disk',
    applies: true,
    passed: false,
    reason_code: 'failed',
    expected: 'disk.encrypted == true',
    actual: { 'disk.encrypted': false },
    observed_at: answer.reported_at,
    valid_until: new Date(Date.parse(answer.reported_at) + 1_800_000).toISOString(),
    freshness_seconds: 1800,
    platforms: null,
    severity: 'high',
    enforcement: 'enforce',
    remediation: 'Turn on disk encryption.',
  })
  assert.deepEqual(
    [av?.passed, av?.enforcement, Date.parse(av?.valid_until ?? '') - Date.parse(updated)],
    [true, 'warn', 600_001],
  )
  assert.deepEqual(
    [quiet?.reason_code, quiet?.actual, quiet?.enforcement],
    ['fact_missing', { jailbroken: null }, 'audit'],
  )
  assert.deepEqual([mac?.applies, mac?.passed, mac?.platforms], [false, true, ['macos', 'ios']])

  clock.advance(1800)
  const later = await kit.admin.getDevicePosture({ params })
  assert.deepEqual([later.verdict, later.checks[1]?.reason_code], ['unknown', 'stale_report'])
  await kit.admin.changeDevice({ body: { operation: 'revoke', ...params } })
  const gone = await kit.admin.getDevicePosture({ params })
  assert.deepEqual([gone.verdict, gone.version, gone.checks], ['unknown', null, []])

  const theirs = await enroll(kit, 'theirs', {
    now: clock.now,
    admin: await kit.as('tenant_admin', await kit.newTenant()),
  })
  for (const device_id of [theirs.id, encodeId('device', crypto.randomUUID()), 'dev_nonsense'])
    await assert.rejects(kit.admin.getDevicePosture({ params: { device_id } }), refused(404, /no such device/))
  await assert.rejects((await kit.as('helpdesk')).getDevicePosture({ params }), refused(403))
})

test('explain uses the last report, even if the device was not notified of its result', async (t) => {
  const kit = await startKit(t)
  const laptop = await enroll(kit, 'laptop')
  await publishChecks(kit, { edr: { expression: 'edr.score >= 50' } })
  for (const score of [60, 80]) await laptop.client.reportPosture({ body: { facts: { 'edr.score': score } } })
  const { policy_decision, posture } = await kit.admin.explainPolicy({
    body: { device_id: laptop.id, target: '10.1.0.1' },
  })
  assert.deepEqual([policy_decision, posture[0]?.actual], ['allow', { 'edr.score': 80 }])
})

test('devices are found by the verdict of their last report, and without a report as unknown', async (t) => {
  const kit = await startKit(t)
  await publishChecks(kit)
  for (const [name, facts] of [
    ['good', { 'disk.encrypted': true }],
    ['bad', { 'disk.encrypted': false }],
    ['vague', {}],
    ['silent', undefined],
  ] as const) {
    const { client } = await enroll(kit, name)
    if (facts) await client.reportPosture({ body: { facts } })
  }
  const named = async (posture: 'compliant' | 'non_compliant' | 'unknown', more: object = {}) =>
    (await kit.admin.listDevices({ query: { posture, sort: 'name', ...more } })).items.map((d) => d.name)
  assert.deepEqual(await named('compliant'), ['good'])
  assert.deepEqual(await named('non_compliant'), ['bad'])
  assert.deepEqual(await named('unknown'), ['silent', 'vague'])
  assert.deepEqual(await named('unknown', { q: 'v' }), ['vague'])
  const { matched } = await kit.admin.changeDevices({
    body: { operation: 'suspend', filter: { posture: 'non_compliant' }, dry_run: true },
  })
  assert.equal(matched, 1)
})

test('all views of a verdict agree after a report, a publish, an expiry and a revocation', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const ids: string[] = []
  for (const encrypted of [true, false, undefined]) {
    const { id, client } = await enroll(kit, `of-${encrypted}`, { now: clock.now })
    ids.push(id)
    if (encrypted !== undefined) await client.reportPosture({ body: { facts: { 'disk.encrypted': encrypted } } })
  }
  const verdicts = ['compliant', 'non_compliant', 'unknown'] as const
  type Counts = Partial<Record<string, number>>
  const countsOf = (all: readonly string[]): Counts =>
    Object.fromEntries([...Map.groupBy(all, (verdict) => verdict)].map(([v, list]) => [v, list.length]))
  const readings: Record<string, () => Promise<Counts>> = {
    detail: async () =>
      countsOf(
        await Promise.all(
          ids.map(async (id) => (await kit.admin.getDevicePosture({ params: { device_id: id } })).verdict),
        ),
      ),
    device: async () =>
      countsOf(
        await Promise.all(
          ids.map(async (id) => (await kit.admin.getDevice({ params: { device_id: id } })).posture.verdict),
        ),
      ),
    list: async () => countsOf((await kit.admin.listDevices()).items.map((d) => d.posture.verdict)),
    filter: async () => {
      const found = await Promise.all(verdicts.map((posture) => kit.admin.listDevices({ query: { posture } })))
      return countsOf(found.flatMap(({ items }, i) => items.map(() => verdicts[i] ?? '')))
    },
    total: async () => {
      const found = await Promise.all(
        verdicts.map((posture) => kit.admin.listDevices({ query: { posture, count: 'estimate', limit: 1 } })),
      )
      return Object.fromEntries(found.flatMap(({ total }, i) => (total?.count ? [[verdicts[i], total.count]] : [])))
    },
    batch: async () => {
      const found = await Promise.all(
        verdicts.map((posture) =>
          kit.admin.changeDevices({ body: { operation: 'suspend', filter: { posture }, dry_run: true } }),
        ),
      )
      return Object.fromEntries(found.flatMap(({ matched }, i) => (matched ? [[verdicts[i], matched]] : [])))
    },
    facets: async () => {
      const { facets } = await kit.admin.listDeviceFacets({})
      return Object.fromEntries(facets.posture.map(({ value, count }) => [value, count]))
    },
    overview: async () => {
      const { posture } = (await kit.admin.dashboardOverview()).devices
      return Object.fromEntries(Object.entries(posture).filter(([, n]) => n > 0))
    },
  }
  const expect = async (expected: Counts, when: string, except: readonly string[] = []) => {
    // Counts are kept for some seconds.
    clock.advance(61)
    for (const [name, read] of Object.entries(readings))
      if (!except.includes(name)) assert.deepEqual(await read(), expected, `${name} ${when}`)
  }
  await expect({ unknown: 3 }, 'without checks')
  await publishChecks(kit)
  await expect({ compliant: 1, non_compliant: 1, unknown: 1 }, 'after a publish')
  await publishChecks(kit, { none: { expression: 'disk.encrypted == false' } })
  await expect({ compliant: 1, non_compliant: 1, unknown: 1 }, 'turned around')
  const { items } = await kit.admin.listDevices({ query: { posture: 'compliant' } })
  assert.deepEqual(
    items.map((d) => d.name),
    ['of-false'],
  )
  // In the seconds after a publish the stored verdict, by which devices are found, is still the one of before.
  await kit.db.inTenant(kit.tenant, (tx) =>
    sql`update device_postures set verdict = 'compliant' where tenant_id = ${kit.tenant}`.execute(tx),
  )
  const compliant = { operation: 'suspend', filter: { posture: 'compliant' } } as const
  const listed = async () => (await kit.admin.listDevices({ query: compliant.filter })).items.map((d) => d.device_id)
  const acted = await kit.admin.changeDevices({ body: { ...compliant, dry_run: true } })
  assert.deepEqual(
    acted.results.map((r) => r.device_id),
    await listed(),
    'a batch acts on the verdicts that the list shows',
  )
  assert.equal(acted.matched, 1)
  await publishChecks(kit, {})
  await expect({ unknown: 3 }, 'without checks again')
  await publishChecks(kit)
  clock.advance(3600)
  await runJob(kit.app, 'expire_posture')
  await expect({ unknown: 3 }, 'an hour after the reports')
  await publishChecks(kit, { disk: { ...diskCheck, freshness_seconds: 86_400 } })
  await expect({ compliant: 1, non_compliant: 1, unknown: 1 }, 'of a day')
  await kit.admin.changeDevice({ body: { operation: 'revoke', device_id: String(ids[1]) } })
  // Revoked devices are not counted by the overview.
  await expect({ compliant: 1, unknown: 2 }, 'of a revoked device', ['overview'])
})

test('a check that no report can satisfy is refused by position', async (t) => {
  const kit = await startKit(t)
  const policy = policyWithChecks({
    typed: { expression: 'disk.encrypted == "yes"' },
    named: { expression: 'disk.encrypt' },
    own: { expression: 'custom.encrypted == "yes"' },
  })
  const { errors } = await kit.admin.validatePolicy({ body: { policy } })
  assert.deepEqual(errors.map(({ field, message }) => [field, message]).slice(0, 2), [
    ['posture_checks.typed.expression', 'disk.encrypted is true or false; it never equals the text "yes"'],
    ['posture_checks.named.expression', 'unknown fact "disk.encrypt". Did you mean "disk.encrypted"?'],
  ])
})
