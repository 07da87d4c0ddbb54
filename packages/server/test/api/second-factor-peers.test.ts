import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enroll, open, publish, rule, withGateway } from '../support/actors/gateways.ts'
import { enrollFactor, makeUser, signInAs, untilNextStep } from '../support/actors/people.ts'
import { createClock, startKit } from '../support/deployment/deployment.ts'

test('gateways are told when the user of a device last proved a second factor', async (t) => {
  const clock = createClock(untilNextStep())
  const kit = await startKit(t, { now: clock.now })
  const user_id = await makeUser(kit, 'anna')
  const [device, other] = [
    await enroll(kit, 'laptop', { user_id, now: clock.now }),
    await enroll(kit, 'kiosk', { now: clock.now }),
  ]
  const strict = { ...rule('strict', { any: true }), when: { mfa_within_seconds: 60 } }
  await publish(kit, [strict])
  const gateway = open(kit, await withGateway(kit))
  await gateway.pull()
  const mfaAt = () => [device, other].map(({ id }) => gateway.state?.peers.get(id)?.mfa_at)
  assert.deepEqual(mfaAt(), [null, null])

  const { person, app, codes } = await enrollFactor(kit, 'anna', clock.now)
  await gateway.pull()
  assert.deepEqual(mfaAt(), [null, null], 'a new factor was not shown by the one who had it before')

  const explain = async () =>
    (await kit.admin.explainPolicy({ body: { device_id: device.id, target: '10.1.2.3:tcp/443' } })).policy_decision
  assert.equal(await explain(), 'deny')
  clock.advance(31)
  const before = clock.now().getTime()
  await signInAs(kit, 'anna', { totp: app.code() })
  const delta = await gateway.pull()
  assert.deepEqual(
    [delta?.kind, delta?.peers],
    ['delta', [device.id]],
    'of a sign-in hears who has devices of that user',
  )
  const [at, none] = mfaAt()
  assert.ok(at && Date.parse(at) >= before && Date.parse(at) <= clock.now().getTime(), String(at))
  assert.equal(none, null)
  assert.equal(await explain(), 'allow')
  await signInAs(kit, 'anna', { recovery_code: codes[0] ?? '' })
  await gateway.pull()
  assert.ok(Date.parse(mfaAt()[0] ?? '') > Date.parse(at))

  clock.advance(61)
  assert.equal(await explain(), 'deny')
  const raised = await person.post('/v1/admin/auth/step-up', { code: app.code() })
  assert.equal(raised.status, 200, raised.text)
  await gateway.pull()
  assert.ok(Date.parse(mfaAt()[0] ?? '') > Date.parse(at) + 60_000)
  assert.equal(await explain(), 'allow')

  await kit.admin.disableTotp({ body: { user_id } })
  await gateway.pull()
  assert.deepEqual(mfaAt(), [null, null])
})
