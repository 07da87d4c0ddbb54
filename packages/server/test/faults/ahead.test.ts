import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { enroll, open, publish, rule, seqOf, withGateway } from '../support/actors/gateways.ts'
import { createNetwork, type Network } from '../support/database/network-faults.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { promptly } from '../support/deployment/wait-until.ts'

test('what was read from the database before it was heard of is told under no older number', async (t) => {
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
  const gateway = await withGateway(kit, 'a', 'A')
  await enroll(kit, 'laptop', { tags: ['t'] })
  const publishPort = (port: number) => publish(kit, [{ ...rule('a', { tags: ['t'] }, ['A']), ports: [`tcp/${port}`] }])
  const portsAt = (held: ReturnType<typeof open>) =>
    [...(held.state?.variants.values() ?? [])].map((v) => v.rules[0]?.ports)

  let ahead = 0
  for (let round = 0; round < 2; round++) {
    await publishPort(1)
    const there = open(kit, gateway, undefined, behind)
    await there.pull()
    await publishPort(2)
    const heard = await seqOf(kit)
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
    const client = open(kit, gateway)
    await client.pull()
    const deadline = performance.now() + promptly
    while ((there.state?.seq ?? 0) < (client.state?.seq ?? 0) && performance.now() < deadline)
      await there.pull().catch(() => delay(100))
    assert.deepEqual(portsAt(there), [['tcp/2']], `round ${round}`)
    assert.deepEqual(portsAt(client), [['tcp/2']])
  }
  assert.ok(ahead > 0, 'the replica answered while it was behind, or right after')
})
