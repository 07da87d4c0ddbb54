import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  assessConnections,
  type DecisionNow,
  type DeviceReports,
  type SessionReports,
  type WitnessReports,
} from './assess.ts'

const now = Date.UTC(2030, 0, 1)
const ago = (seconds: number) => now - seconds * 1000
const session: SessionReports = {
  sessionId: 's1',
  state: 'active',
  endReason: null,
  startedAt: ago(3600),
  endedAt: null,
  gatewayState: 'active',
  gatewayAt: ago(20),
  gatewayDigest: 'd1',
  defiedSince: null,
}
const device: DeviceReports = { state: 'connected', sessionId: 's1', since: ago(3600), at: ago(30), digest: 'd1' }
const standing: DecisionNow = { allowed: true, reason: 'allowed', digest: 'd1' }
const agreed: WitnessReports = { session, device, decision: standing, lostCertificate: false }
const verdictOf = (words: Partial<WitnessReports>) => assessConnections({ ...agreed, ...words }, now).verdict

test('reports that agree, or that are missing, are consistent', () => {
  assert.deepEqual(assessConnections(agreed, now), { verdict: 'consistent', outcome: 'settled', disagreements: [] })
  assert.equal(verdictOf({ device: undefined }), 'consistent')
  assert.equal(
    verdictOf({ session: { ...session, gatewayDigest: null }, device: { ...device, digest: null } }),
    'consistent',
  )
  const over = { ...session, state: 'ended', endedAt: ago(30), endReason: 'user', gatewayState: 'ended' } as const
  assert.equal(verdictOf({ session: over, device: { ...device, state: 'disconnected' } }), 'consistent')
})

test('a connection that must not exist is unauthorized once its gateway could have learnt that', () => {
  const cut = { ...session, state: 'ended', endedAt: ago(300), defiedSince: ago(200) } as const
  const refused = { ...standing, allowed: false, reason: 'suspended' }
  for (const endReason of ['admin', 'revoked', 'suspended', 'blocked', 'entitlement_exceeded'])
    assert.equal(verdictOf({ session: { ...cut, endReason } }), 'unauthorized')
  for (const endReason of ['superseded', 'timeout', 'gateway_down'])
    assert.equal(verdictOf({ session: { ...cut, endReason } }), 'conflict')
  assert.equal(verdictOf({ session: { ...cut, endReason: 'timeout' }, decision: refused }), 'unauthorized')
  assert.equal(verdictOf({ session: { ...session, defiedSince: ago(60) }, decision: refused }), 'unauthorized')
  const justNow = { ...session, gatewayAt: ago(20), defiedSince: ago(20) }
  const first = assessConnections({ ...agreed, session: justNow, decision: refused }, now)
  assert.deepEqual([first.verdict, first.outcome], ['stale', 'pending'], 'the policy may be on its way to it')
  const unrepeated = { ...session, gatewayAt: ago(90), defiedSince: ago(90) }
  assert.equal(verdictOf({ session: unrepeated, decision: refused }), 'unauthorized', 'it has not taken it back')
  assert.equal(verdictOf({ decision: refused }), 'consistent', 'it said so before it could know')
  assert.equal(
    verdictOf({ session: { ...cut, endReason: 'admin', gatewayAt: ago(151) }, device: undefined }),
    'consistent',
    'it has said nothing since',
  )
})

test('a report by one side alone becomes a conflict after the time in which the other would have reported', () => {
  const at = (since: number, more: Partial<DeviceReports> = {}): DeviceReports => ({
    ...device,
    since: ago(since),
    ...more,
  })
  const outcome = (words: Partial<WitnessReports>) => {
    const { verdict, outcome } = assessConnections({ ...agreed, ...words }, now)
    return `${verdict} ${outcome}`
  }
  assert.equal(outcome({ session: undefined, device: at(89) }), 'stale pending')
  assert.equal(outcome({ session: undefined, device: at(90) }), 'conflict found')
  assert.equal(outcome({ session: undefined, device: at(900, { at: ago(301) }) }), 'consistent settled')
  assert.equal(outcome({ device: at(90, { sessionId: 's2' }) }), 'conflict found')
  assert.equal(outcome({ device: at(89, { sessionId: 's2' }) }), 'stale pending')
  const left = { state: 'disconnected', at: ago(30) } as const
  assert.equal(outcome({ device: at(109, left) }), 'stale pending')
  assert.equal(outcome({ device: at(110, left) }), 'conflict found')
  assert.equal(outcome({ device: at(200, { ...left, sessionId: 's0' }) }), 'consistent settled', 'it left another one')
  assert.equal(
    outcome({ device: at(900, { ...left, at: ago(900) }) }),
    'conflict found',
    'a device that left reports no more',
  )
  const gone = { ...session, state: 'ended', endReason: 'user', gatewayState: 'ended', endedAt: ago(100) } as const
  assert.equal(outcome({ session: gone, device: at(900) }), 'conflict found')
  assert.equal(outcome({ session: gone, device: at(900, { at: ago(99) }) }), 'stale pending', 'said as it ended')
  const unnamed = at(900, { sessionId: null, at: ago(110) })
  assert.equal(outcome({ session: gone, device: unnamed }), 'stale pending', 'said before it ended')
  assert.equal(outcome({ session: gone, device: { ...unnamed, at: ago(30) } }), 'conflict found')
})

test('silence and an older policy are stale, and only silence is found as a problem', () => {
  assert.equal(verdictOf({ session: { ...session, gatewayAt: ago(149.999) } }), 'consistent')
  const silent = assessConnections({ ...agreed, session: { ...session, gatewayAt: ago(150) } }, now)
  assert.deepEqual([silent.verdict, silent.outcome], ['stale', 'found'])
  for (const words of [{ session: { ...session, gatewayDigest: 'd0' } }, { device: { ...device, digest: 'd0' } }]) {
    const { verdict, outcome, disagreements } = assessConnections({ ...agreed, ...words }, now)
    assert.deepEqual([verdict, outcome, disagreements[0]?.field], ['stale', 'settled', 'policy_digest'])
  }
})

test('a device whose certificates have all ended is stale while it is connected', () => {
  const lostCertificate = true
  const { verdict, outcome, disagreements } = assessConnections({ ...agreed, lostCertificate }, now)
  assert.deepEqual([verdict, outcome, disagreements[0]?.field], ['stale', 'settled', 'certificate'])
  const over = { ...session, state: 'ended', gatewayState: 'ended', endedAt: ago(300), endReason: 'user' } as const
  assert.equal(verdictOf({ session: over, device: undefined, lostCertificate }), 'consistent')
  const refused = assessConnections({ ...agreed, lostCertificate, decision: { ...standing, allowed: false } }, now)
  assert.equal(refused.verdict, 'consistent', 'a session against the policy is another finding')
})

test('every verdict has its disagreements, and no missing reporter is accused', () => {
  const time = fc.integer({ min: 0, max: 1000 }).map(ago)
  const id = fc.constantFrom('s1', 's2')
  const anySession = fc
    .record({
      sessionId: id,
      state: fc.constantFrom('active', 'ended'),
      startedAt: time,
      endedAt: time,
      endReason: fc.constantFrom('admin', 'timeout', 'user'),
      gatewayState: fc.constantFrom('active', 'ended'),
      gatewayAt: time,
      gatewayDigest: fc.constantFrom('d1', 'd2', null),
      defiedSince: fc.option(time),
    })
    .map((s) => (s.state === 'active' ? { ...s, endedAt: null, endReason: null } : s) as SessionReports)
  const anyDevice = fc.record({
    state: fc.constantFrom('connected', 'disconnected'),
    sessionId: fc.option(id),
    since: time,
    at: time,
    digest: fc.constantFrom('d1', 'd2', null),
  }) as fc.Arbitrary<DeviceReports>
  const anyStanding = fc.record({ allowed: fc.boolean(), reason: fc.constant('no_rule'), digest: fc.constant('d1') })
  const words = fc.record({
    session: fc.option(anySession, { nil: undefined }),
    device: fc.option(anyDevice, { nil: undefined }),
    decision: anyStanding,
    lostCertificate: fc.boolean(),
  })
  fc.assert(
    fc.property(words, (w) => {
      const { verdict, outcome, disagreements } = assessConnections(w, now)
      assert.equal(verdict === 'consistent', disagreements.length === 0)
      if (verdict === 'conflict' || verdict === 'unauthorized') assert.equal(outcome, 'found')
      if (verdict === 'unauthorized') assert.ok(w.session && now - w.session.gatewayAt < 150_000)
      const mute = assessConnections({ ...w, session: undefined, device: undefined }, now)
      assert.equal(mute.verdict, 'consistent')
      if (!w.device && w.session?.defiedSince === null) assert.notEqual(verdict, 'conflict')
    }),
  )
})
