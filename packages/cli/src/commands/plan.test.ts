import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answered, type Asked, startServer, startShell } from '../../test/support/shell.ts'

const team = { plan_id: 'pln_1', name: 'team', limits: { users: 50, devices: 100 }, features: ['siem'], tenants: 2 }

test('plans are listed with their limits as they are written', async (t) => {
  const { url } = await startServer(t, () => ({ body: { items: [team], next_cursor: null } }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  assert.match((await run(['plan', 'list'])).out, /\npln_1 +team +2 +users=50, devices=100 +siem\n$/)
})

test('a plan is made with what it limits, and with nothing else', async (t) => {
  const { url, asked } = await startServer(t, () => ({ status: 201, body: team }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  await run(['plan', 'create', 'team', '--limit', 'users=50', 'devices=100', '--feature', 'siem'])
  await run(['plan', 'create', 'free'])
  assert.deepEqual(
    asked.map(({ body }) => body),
    [
      { name: 'team', limits: { users: 50, devices: 100 }, features: ['siem'] },
      { name: 'free', limits: {}, features: [] },
    ],
  )
})

test('a change of a plan is laid over what is there, and begins anew where somebody was faster', async (t) => {
  let reads = 0
  const answer = ({ line, headers }: Asked): Answered => {
    if (line.startsWith('GET ')) return { headers: { etag: `"${++reads}"` }, body: team }
    if (headers['if-match'] === '"2"') return { body: team }
    const error = { error: 'validation_error', detail: 'If-Match: no', errors: [{ field: 'If-Match', message: 'no' }] }
    return { status: 422, body: error }
  }
  const { url, asked } = await startServer(t, answer)
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const { code, err } = await run(['plan', 'update', 'pln_1', '--limit', 'users=80', 'devices=', '--no-feature'])
  assert.equal(code, 0, err)
  const whole = 'GET /v1/admin/plans/pln_1'
  const put = 'PUT /v1/admin/plans/pln_1'
  assert.deepEqual(
    asked.map(({ line }) => line),
    [whole, put, whole, put],
  )
  assert.deepEqual(asked.at(-1)?.body, { ...team, limits: { users: 80, devices: null }, features: [] })
  assert.equal((await run(['plan', 'update', 'pln_1'])).code, 2)
})

test('a plan is deleted by its name, once somebody is sure', async (t) => {
  const { url, asked } = await startServer(t, ({ line }) => ({
    body: line.startsWith('GET ') ? { items: [team], next_cursor: null } : { changed: true },
  }))
  const { run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  assert.equal((await run(['plan', 'delete', 'team'])).code, 2)
  assert.equal(asked.length, 0)
  assert.equal((await run(['plan', 'delete', 'team', '--yes'])).out, 'team  deleted\n')
  assert.equal(asked.at(-1)?.line, 'DELETE /v1/admin/plans/pln_1')
})
