import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { startKit } from '../support/deployment/deployment.ts'
import { without } from './tools.ts'

test('promtool reads the metrics and has nothing to say against them', { skip: without('promtool') }, async (t) => {
  const kit = await startKit(t, { config: { metrics: { host: '127.0.0.1', port: 0 } } })
  await kit.admin.me()
  await assert.rejects(kit.admin.getUser({ params: { user_id: 'usr_none' } }))
  const input = await (await fetch(`${kit.metricsUrl}/metrics`)).text()
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' })
  assert.deepEqual({ status, said: stdout + stderr }, { status: 0, said: '' })
})
