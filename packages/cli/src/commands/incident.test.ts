import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Asked, startServer, startShell } from '../../test/support/shell.ts'

const run = {
  workflow_run_id: 'wfr_1',
  kind: 'playbook',
  workflow: 'lost_device',
  params: {},
  reason: null,
  status: 'succeeded',
  second_approver: false,
  requested_by: { type: 'user', id: 'usr_1', name: 'anna' },
  approved_by: null,
  undo_of: null,
  undo_at: null,
  evidence_digest: null,
  created_at: '2026-01-31T09:30:00.000Z',
  started_at: null,
  finished_at: null,
  steps: [
    {
      step: 1,
      action: 'changeDevice',
      summary: 'Revoke the device laptop',
      status: 'succeeded',
      on_error: 'stop',
      reversible: false,
      affects: [],
      affects_count: 1,
      result: {},
      error: null,
      attempts: 1,
      started_at: null,
      finished_at: null,
    },
  ],
}
const devices = { items: [{ device_id: 'dev_1', name: 'laptop' }], next_cursor: null }
const answer = ({ line }: Asked) => ({ body: line.includes('/devices') ? devices : { run, changed: true } })

test('a playbook is run with its parameters by their types, a device by its name', async (t) => {
  const { url, asked } = await startServer(t, answer)
  const { run: shell } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const { code, out, err } = await shell(
    'incident run lost_device device_id=laptop revoke=false --reason lost --undo-after 24h --yes'.split(' '),
  )
  assert.equal(code, 0, err)
  assert.match(out, /Revoke the device laptop/)
  assert.deepEqual(asked.at(-1)?.body, {
    workflow: 'lost_device',
    params: { device_id: 'dev_1', revoke: false },
    reason: 'lost',
    undo_after_seconds: 86_400,
  })
  assert.equal((await shell('incident run lost_device device_id=laptop'.split(' '))).code, 2, 'it asks, or wants --yes')
  assert.equal((await shell('incident run lost_device laptop --dry-run'.split(' '))).code, 2, 'name=value')
})

test('a run that failed is exit code 1, and shown all the same', async (t) => {
  const failed = { ...run, status: 'failed', steps: [{ ...run.steps[0], status: 'failed', error: 'no such device' }] }
  const { url } = await startServer(t, () => ({ body: { run: failed, changed: true } }))
  const { run: shell } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const { code, out } = await shell(['incident', 'resume', 'wfr_1'])
  assert.equal(code, 1)
  assert.match(out, /no such device/)
})

test('the target of a lock is found by its name among what it is', async (t) => {
  const { url, asked } = await startServer(t, ({ line }) => ({
    body: line.includes('/devices') ? devices : { lock: { lock_id: 'lck_1', target: {} }, changed: true },
  }))
  const { run: shell } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const { code, err } = await shell('lock create device laptop --reason lost --expires 1h'.split(' '))
  assert.equal(code, 0, err)
  const target = { type: 'device', id: 'dev_1' }
  assert.deepEqual(asked.at(-1)?.body, { target, reason: 'lost', expires_in_seconds: 3600 })
  assert.equal((await shell('lock create tenant --reason all'.split(' '))).code, 2, 'it asks, or wants --yes')
})
