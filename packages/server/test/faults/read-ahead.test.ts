import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { enroll } from '../support/actors/devices.ts'
import { gatewayAgent, makeGateway } from '../support/actors/gateways.ts'
import { createNetwork, type Network } from '../support/database/network-faults.ts'
import { tenantSequence } from '../support/database/tenant-sequence.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { deliveryLimitMs } from '../support/deployment/wait-until.ts'
import { publish, rule } from '../support/domain/policy.ts'

test('data read ahead of the feed is never sent under an older sequence number', async (t) => {
  let network: Network | undefined
  const kit = await startKit(t, {
    replicas: 2,
    route: async (url, n) => {
      if (n === 0) return url
      network = await createNetwork(t, url)
      return network.url
    },
  })
  const behind = kit.replicas[1]!
  const gateway = await makeGateway(kit, 'a', 'A')
  await enroll(kit, 'laptop', { tags: ['t'] })
  const publishPort = (port: number) => publish(kit, [{ ...rule('a', { tags: ['t'] }, ['A']), ports: [`tcp/${port}`] }])
  const portsAt = (held: ReturnType<typeof gatewayAgent>) =>
    [...(held.state?.variants.values() ?? [])].map((v) => v.rules[0]?.ports)

  let ahead = 0
  for (let round = 0; round < 2; round++) {
    await publishPort(1)
    const there = gatewayAgent(kit, gateway, undefined, behind)
    await there.pull()
    await publishPort(2)
    const heard = await tenantSequence(kit)
    while (behind.app.feed.seqOf(kit.tenant) < heard) await delay(5)
    // The replica gets no more notifications, but its reads return the current state.
    network!.holdAt('execute heartbeat')
    while (!network!.isHolding()) await delay(5)
    await publishPort(3)
    const pulling = there.pull().then(
      () => true,
      () => false,
    )
    await delay(200)
    network!.release()
    if (await pulling) ahead++
    // The state as when the replica was behind, with no change since that number.
    await publishPort(2)
    const client = gatewayAgent(kit, gateway)
    await client.pull()
    const deadline = performance.now() + deliveryLimitMs
    while ((there.state?.seq ?? 0) < (client.state?.seq ?? 0) && performance.now() < deadline)
      await there.pull().catch(() => delay(100))
    assert.deepEqual(portsAt(there), [['tcp/2']], `round ${round}`)
    assert.deepEqual(portsAt(client), [['tcp/2']])
  }
  assert.ok(ahead > 0, 'the replica answered while it was behind, or right after')
})
