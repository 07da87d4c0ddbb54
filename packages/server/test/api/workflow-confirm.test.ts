import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { enroll, withGateway } from '../support/actors/gateways.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { lockDevice, withSlowGateway } from '../support/domain/workflow-runs.ts'

test('a gateway is waited for as far as the run changed things, however much is changed meanwhile', async (t) => {
  const kit = await startKit(t)
  const gateway = await withSlowGateway(kit)
  const [lost, other] = [await enroll(kit, 'lost'), await enroll(kit, 'other')]
  let isAnswered = false
  const running = lockDevice(kit, lost.id).finally(() => {
    isAnswered = true
  })
  // Changes something else before each heartbeat, so that each report is outdated.
  for (let i = 0; !isAnswered; i++) {
    await gateway.pull()
    gateway.confirm()
    const operation = i % 2 ? 'reactivate' : 'suspend'
    await kit.admin.changeDevice({ body: { operation, device_id: other.id } })
    await gateway.heartbeat({ active_sessions: 0 })
  }
  const { run } = await running
  assert.equal(run.status, 'succeeded', JSON.stringify(run.steps))
})

test('a run that waits shows which gateways have confirmed, while it waits', async (t) => {
  const kit = await startKit(t)
  const gateway = await withSlowGateway(kit)
  const second = await withGateway(kit, 'g2', 'other pool')
  await second.client.heartbeat({ body: { boot_id: 'boot', active_sessions: 0 } })
  await withGateway(kit, 'g3', 'third pool')
  const lost = await enroll(kit, 'lost')
  const running = lockDevice(kit, lost.id)
  const waiting = async () => {
    const { items } = await kit.admin.listWorkflowRuns({ query: { limit: 1 } })
    const workflow_run_id = items[0]?.workflow_run_id
    if (!workflow_run_id) return undefined
    const { steps } = await kit.admin.getWorkflowRun({ params: { workflow_run_id } })
    return steps.find((s) => s.confirmations !== null)
  }
  const shown = async () => {
    const step = await waiting()
    return step?.confirmations?.gateways.map((g) => `${g.gateway_name} ${g.state} ${g.confirmed_at !== null}`).sort()
  }
  const atFirst = ['g1 reachable false', 'g2 reachable false', 'g3 down false']
  await until(async () => isDeepStrictEqual(await shown(), atFirst), 'all that is waited for')
  const step = (await waiting())!
  assert.equal(step.action, 'confirm_gateways')
  const { seq, gateways, ...counts } = step.confirmations!
  assert.deepEqual(counts, { confirmed: 0, waiting: 2, down: 1 })
  assert.equal(gateways.at(-1)!.gateway_name, 'g3', 'those that are waited for come first')

  const said = Date.now()
  await second.client.heartbeat({ body: { boot_id: 'boot', active_sessions: 0, applied: { policy_seq: seq } } })
  const then = (await waiting())!.confirmations!
  assert.deepEqual([then.confirmed, then.waiting, then.down], [1, 1, 1])
  const [last] = then.gateways.slice(-1)
  assert.equal(last?.gateway_name, 'g2')
  assert.ok(Math.abs(Date.parse(last!.confirmed_at!) - said) < 60_000)

  await gateway.pull()
  gateway.confirm()
  await gateway.heartbeat({ active_sessions: 0 })
  const { run } = await running
  assert.equal(run.status, 'succeeded', JSON.stringify(run.steps))
  assert.ok(run.steps.every((s) => s.confirmations === null))
})
