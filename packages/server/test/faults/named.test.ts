import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { bearer, call, operation } from '../support/actors/all-callers.ts'
import { startKit } from '../support/deployment/deployment.ts'

test('a group and a pool that are deleted while a policy that names them is published: one of the two is refused', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const admin = bearer(kit.adminKey)
  const onSecond = { ...kit, ...kit.replicas[1]! }
  const tally = { published: 0, deleted: 0 }
  for (const i of Array(12).keys()) {
    const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: `group-${i}` } } })
    const pool = await kit.admin.createGatewayPool({ body: { name: `pool-${i}`, region: { code: 'eu' } } })
    const rules = [{ id: 'r', action: 'deny', from: { groups: [`group-${i}`] }, to: ['10.0.0.0/8'] }]
    const via = [{ id: 'r', action: 'allow', from: { any: true }, to: ['10.0.0.0/8'], via: [`pool-${i}`] }]
    const publish = (given: object[]) =>
      call(kit, operation('publishPolicy'), admin, {
        channel: 'stable',
        policy: { schema: 'holdfast.policy/1', rules: given },
      })
    const remove = () =>
      i % 2
        ? call(onSecond, { method: 'DELETE', path: `/v1/admin/settings/gateway-pools/${pool.pool_id}` }, admin)
        : call(onSecond, operation('changeGroup'), admin, { operation: 'delete', group_id: group.group_id })
    // Increasing delays, so that either request may come first.
    const [published, removed] = await Promise.all([publish(i % 2 ? via : rules), delay(i * 8).then(remove)])
    const done = [published.status, removed.status].filter((s) => s < 300)
    assert.equal(
      done.length,
      1,
      `${i}: ${published.status} ${published.text.slice(0, 200)} / ${removed.status} ${removed.text.slice(0, 200)}`,
    )
    tally[published.status < 300 ? 'published' : 'deleted']++
    if (published.status < 300) await publish([])
  }
  console.log(`# publish against deletion: 12 races, ${JSON.stringify(tally)}, 0 policies that name what is gone`)
})
