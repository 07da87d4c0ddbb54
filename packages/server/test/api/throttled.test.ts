import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeSecuritySettings } from '@holdfast/sdk'
import { call, enrollRaw, operation } from '../support/actors/all-callers.ts'
import { withGateway } from '../support/actors/gateways.ts'
import { makeUser, signInAs } from '../support/actors/people.ts'
import { send } from '../support/clients/raw-http.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

test('a caller that asks too often is on record: the first 429 of a minute at once, the others with their count', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { secret: token } = await kit.admin.generateToken({ body: { max_uses: 0 } })
  const device = await enrollRaw(kit, token, 'laptop')
  const mary = await makeUser(kit, 'mary', ['viewer'])
  const session = await signInAs(kit, 'mary')
  const { gateway, secret } = await withGateway(kit)
  await changeSecuritySettings(kit.admin, {
    api: {
      requests_per_minute_per_device: 60,
      requests_per_minute_per_session: 60,
      requests_per_minute_per_gateway: 60,
    },
  })
  // No time passes for the rates, so that exactly ten requests of each caller pass.
  const moment = Math.ceil(performance.now())
  const stopped = t.mock.method(performance, 'now', () => moment)

  const bearer = { authorization: `Bearer ${secret}` }
  const callers: [who: string, ask: (i: number) => Promise<{ status: number }>][] = [
    // Reads and writes, known and unknown paths, on the fast path and in the router.
    ['session', (i) => (i % 3 ? session.get(i % 2 ? '/v1/admin/me' : '/v1/nothing') : session.post('/v1/admin/users'))],
    ['device', (i) => call(kit, operation(i % 2 ? 'policyDigest' : 'trustAnchors'), device.caller)],
    ['gateway', () => send(kit.url, { path: '/v1/gateway/runtime/unified-policy', headers: bearer })],
  ]
  const recorded = async (who: string) =>
    (await eventsOf(kit, 'auth.throttled'))
      .filter(({ actor }) => actor.type === who)
      .map((e) => [e.credential, e.refused, e.outcome])
  for (const [who, ask] of callers) {
    for (let i = 0; i < 10; i++) assert.notEqual((await ask(i)).status, 429, who)
    assert.equal((await ask(10)).status, 429, who)
    assert.deepEqual(await recorded(who), [[who, 1, 'refused']], 'before the answer')
    for (let i = 11; i < 25; i++) assert.equal((await ask(i)).status, 429, who)
    assert.equal((await recorded(who)).length, 1, 'the others are counted')
  }
  stopped.mock.restore()

  await kit.replicas[0]!.stop()
  const events = await eventsOf({ admin: kit.clientFor(kit.adminKey, kit.replicas[1]) }, 'auth.throttled')
  const ids = { session: mary, device: device.id, gateway: gateway.gateway_id }
  for (const [type, id] of Object.entries(ids)) {
    const its = events.filter(({ actor }) => actor.type === type)
    const said = its.map((e) => [e.credential, e.refused, e.actor.id, e.source_ip])
    assert.deepEqual(said.reverse(), [
      [type, 1, id, '127.0.0.1'],
      [type, 14, id, '127.0.0.1'],
    ])
  }
})
