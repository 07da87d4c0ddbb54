import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { encodeId } from '../../src/kernel/ids.ts'
import { bearer, call, deviceCaller, enrollRaw, operation } from '../support/actors/all-callers.ts'
import { enroll, payloadOf } from '../support/actors/gateways.ts'
import { createClock, type Kit, startKit, times } from '../support/deployment/deployment.ts'
import { assertionOf, disk, publishChecks, reasonsOf, relied } from '../support/domain/posture.ts'

test('what is said of a device', async (t) => {
  const kit = await startKit(t)
  await t.test('a device is vouched for by what it reported; the token names checks, and never what they ask for', () =>
    vouched(kit),
  )
  await t.test('a nonce is 8 to 64 bytes in their one spelling, and comes back as it was given', () => byNonce(kit))
  await t.test('an assertion opens no door, and no credential vouches for a device', () => noCredential(kit))
})

test('how long it is said', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now, replicas: 2 })
  await t.test('a stale report is never affirming, nor does what is affirmed outlive the hour of its report', () =>
    stale(kit, clock),
  )
  await t.test(
    'who asks without a nonce shares an assertion for half of its life, until something else is to be said',
    () => shared(kit, clock),
  )
})

async function vouched(kit: Kit): Promise<void> {
  const laptop = await enroll(kit, 'laptop')
  const standing = async () => {
    const { status, reasons, assertion } = await laptop.client.postureAssertion()
    const told = await relied(kit, assertion, null)
    assert.deepEqual([told.status, told.reasons.length], [status, reasons.length])
    return [status, ...reasonsOf(reasons)]
  }
  const say = (facts: Record<string, boolean | string | number>) => laptop.client.reportPosture({ body: { facts } })
  assert.deepEqual(await standing(), ['none', 'no_report'])
  await say({ 'disk.encrypted': true })
  assert.deepEqual(await standing(), ['none', 'nothing_checked'], 'to affirm what nobody checked would be a lie')
  const [answered, shown, explained, listed] = await Promise.all([
    laptop.client.reportPosture({ body: { facts: { 'disk.encrypted': true } } }),
    kit.admin.getDevice({ params: { device_id: laptop.id } }),
    kit.admin.getDevicePosture({ params: { device_id: laptop.id } }),
    kit.admin.listDevices({ query: { posture: 'unknown', q: 'laptop' } }),
  ])
  const verdicts = [answered.verdict, shown.posture.verdict, explained.verdict, listed.items[0]?.posture.verdict]
  assert.deepEqual(new Set(verdicts), new Set(['unknown']), 'nor does any other place vouch for it')

  await publishChecks(kit, {
    disk,
    edr: { expression: 'edr.score >= 73', remediation: 'Ask the help desk.' },
    screen: { expression: 'screen_lock.seconds <= 271', enforcement: 'warn' },
    quiet: { expression: 'uptime_seconds < 86399', enforcement: 'audit' },
    mac: { expression: 'os.version >= "99"', platforms: ['macos'] },
  })
  const good = { 'disk.encrypted': true, 'edr.score': 73, 'screen_lock.seconds': 60, 'os.version': '6.1' }
  for (const [facts, ...expected] of [
    [good, 'affirming'],
    [{ ...good, uptime_seconds: 90_000 }, 'affirming'],
    [{ ...good, 'screen_lock.seconds': 272 }, 'warning', 'check_failed screen'],
    [{ ...good, 'edr.score': 72 }, 'contraindicated', 'check_failed edr'],
    [{ 'edr.score': 73, 'screen_lock.seconds': 60 }, 'warning', 'check_unknown disk'],
    [{ 'edr.score': 1 }, 'contraindicated', 'check_unknown disk', 'check_failed edr', 'check_unknown screen'],
    [{}, 'warning', 'check_unknown disk', 'check_unknown edr', 'check_unknown screen'],
  ] as const) {
    await say(facts)
    assert.deepEqual(await standing(), expected)
  }

  await say(good)
  const nonce = randomBytes(16).toString('base64url')
  const { assertion, expires_at } = await laptop.client.postureAssertion({ query: { nonce } })
  const [head = ''] = assertion.split('.')
  assert.deepEqual(Object.keys(JSON.parse(Buffer.from(head, 'base64url').toString())), ['alg', 'typ', 'kid'])
  const claims = payloadOf(assertion)
  const { digest, version, channel } = await laptop.client.policyDigest()
  const tenant = encodeId('tenant', kit.tenant)
  assert.deepEqual(
    { ...claims, jti: undefined, iat: undefined, facts_digest: claims.facts_digest.slice(0, 7) },
    {
      iss: kit.publicUrl,
      sub: laptop.id,
      aud: ['urn:holdfast:relying-party'],
      tid: tenant,
      cnf: payloadOf(laptop.made.credential).cnf,
      eat_nonce: nonce,
      eat_profile: 'tag:ietf.org,2026:rats/ear#04',
      ear_verifier_id: { developer: 'Holdfast', build: 'holdfast' },
      submods: {
        device: {
          ear_status: 'affirming',
          ear_appraisal_policy_ids: [`urn:holdfast:policy:${tenant}:1`],
          ear_verifier_claims: { checks: ['disk', 'edr', 'screen'].map((id) => ({ id, passed: true })), reasons: [] },
        },
      },
      policy: { channel, version, digest },
      facts_digest: 'sha256:',
      posture: { os_version: '6.1', disk_encrypted: true, reported_at: claims.posture.reported_at },
      jti: undefined,
      iat: undefined,
      exp: claims.iat + 600,
    },
  )
  assert.equal(Date.parse(expires_at), claims.exp * 1000)
  assert.equal((await relied(kit, assertion, nonce)).status, 'affirming')
  for (const secret of ['73', '271', '86399', 'quiet', 'help desk', 'macos'])
    assert.doesNotMatch(
      JSON.stringify({ ...claims, jti: '', facts_digest: '', policy: '', cnf: '' }),
      RegExp(`\\b${secret}\\b`),
    )
}

async function byNonce(kit: Kit): Promise<void> {
  const laptop = await enrollRaw(kit, (await kit.admin.generateToken({ body: {} })).secret)
  const of = (bytes: number) => randomBytes(bytes).toString('base64url')
  const spelled = of(16)
  const odd = `${spelled.slice(0, -1)}${spelled.endsWith('B') ? 'C' : 'B'}`
  const bad = ['', of(7), of(65), 'A'.repeat(13), odd, `${of(16)}==`, 'AAAAAAAAAAA+', 'AAAAAAAAAAA/']
  for (const nonce of [
    ...bad,
    '\0'.repeat(16),
    `${of(16)}\r\nx: y`,
    'ä'.repeat(16),
    'A'.repeat(100_000).slice(0, 4000),
  ]) {
    const answer = await assertionOf(kit, laptop, `?nonce=${encodeURIComponent(nonce)}`)
    assert.deepEqual([answer.status, answer.json.error], [400, 'bad_request'], JSON.stringify(nonce.slice(0, 40)))
  }
  for (const query of [
    `?nonce=${of(16)}&nonce=${of(16)}`,
    `?nonce[]=${of(16)}`,
    '?nonce=%FF%FF%FF%FF%FF%FF%FF%FF%FF%FF%FF',
  ])
    assert.equal((await assertionOf(kit, laptop, query)).status, 400, query)
  for (const nonce of [of(8), of(16), of(64), '-_'.repeat(8)]) {
    const answer = await assertionOf(kit, laptop, `?nonce=${nonce}`)
    assert.equal(answer.status, 200, answer.text)
    await relied(kit, String(answer.json.assertion), nonce)
    await assert.rejects(relied(kit, String(answer.json.assertion), of(16)), { code: 'wrong_nonce' })
  }
}

async function noCredential(kit: Kit): Promise<void> {
  const laptop = await enrollRaw(kit, (await kit.admin.generateToken({ body: {} })).secret)
  const { assertion } = (await assertionOf(kit, laptop)).json as { assertion: string }
  const asCredential = [bearer(assertion), deviceCaller(assertion, laptop.key)]
  for (const name of ['policyDigest', 'postureAssertion', 'listDevices', 'unifiedPolicy', 'trustAnchors'] as const)
    for (const caller of asCredential) {
      const { status, json } = await call(kit, operation(name), caller)
      assert.deepEqual([name, status, json.error], [name, 401, 'unauthorized'])
    }
  const { dpop: proof = '' } = laptop.caller('GET', `${kit.publicUrl}/v1/posture/assertion`)
  for (const other of [laptop.credential, proof]) await assert.rejects(relied(kit, other, null), { code: 'wrong_type' })
}

type Clock = ReturnType<typeof createClock>
async function stale(kit: Kit, clock: Clock): Promise<void> {
  const laptop = await enroll(kit, 'laptop', { now: clock.now })
  await publishChecks(kit, { disk: { ...disk, freshness_seconds: 86_400 } })
  const { reported_at } = await laptop.client.reportPosture({ body: { facts: { 'disk.encrypted': true } } })
  const end = Date.parse(reported_at) + 3_600_000
  const at = (ms: number) => clock.advance((ms - clock.now().getTime()) / 1000)
  for (const before of [3_500_000, 1_200_000, 60_000, 3_000]) {
    at(end - before)
    const { status, expires_at } = await laptop.client.postureAssertion()
    assert.equal(status, 'affirming')
    assert.ok(Date.parse(expires_at) <= end, `${before} ms before its end`)
  }
  at(end)
  const old = await laptop.client.postureAssertion()
  assert.deepEqual([old.status, ...reasonsOf(old.reasons)], ['warning', 'stale_report'])
  await laptop.client.reportPosture({ body: { facts: { 'disk.encrypted': false } } })
  clock.advance(7200)
  const failed = await laptop.client.postureAssertion()
  assert.equal(failed.status, 'contraindicated', 'what was known to fail does not get better with age')
  await publishChecks(kit, { disk: { ...disk, freshness_seconds: 60 } })
  await laptop.client.reportPosture({ body: { facts: { 'disk.encrypted': true } } })
  clock.advance(60)
  const stale = await laptop.client.postureAssertion()
  assert.deepEqual([stale.status, ...reasonsOf(stale.reasons)], ['warning', 'stale_report', 'check_unknown disk'])
}

async function shared(kit: Kit, clock: Clock): Promise<void> {
  const laptop = await enroll(kit, 'laptop', { now: clock.now })
  const query = { device_id: laptop.id }
  const clients = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
  const jti = async (client = clients[0]!) => payloadOf((await client.postureAssertion({ query })).assertion).jti
  await publishChecks(kit)
  await laptop.client.reportPosture({ body: { facts: { 'disk.encrypted': true } } })
  await kit.heard()

  const many = await times(20, (i) => jti(clients[i % 2]))
  assert.equal(new Set(many).size, 2, 'one for each replica')
  const keys = (await kit.admin.trustAnchors()).jwks.keys.filter((key) => key.holdfast_purpose.includes('posture'))
  assert.equal(keys.length, 1, 'signed by the one key that was made for it')
  const shown = await times(20, (i) =>
    clients[i % 2]!.postureAssertion({ query: { ...query, nonce: randomBytes(16).toString('base64url') } }),
  )
  assert.equal(new Set(shown.map(({ assertion }) => payloadOf(assertion).jti)).size, 20, 'a nonce has its own')

  const first = await jti()
  clock.advance(290)
  assert.equal(await jti(), first)
  clock.advance(20)
  const second = await jti()
  assert.notEqual(second, first, 'past half of its life')
  const expectNew = async (before: string, what: string) => {
    const now = await jti()
    assert.notEqual(now, before, what)
    return now
  }
  await laptop.client.reportPosture({ body: { facts: { 'disk.encrypted': true } } })
  const third = await expectNew(second, 'a report')
  await publishChecks(kit, { disk: { ...disk, severity: 'high' } })
  const fourth = await expectNew(third, 'a policy')
  await kit.admin.changeDevice({ body: { operation: 'suspend', ...query } })
  await expectNew(fourth, 'a suspension')
}
