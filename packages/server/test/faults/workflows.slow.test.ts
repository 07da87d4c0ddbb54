import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { cookieOf, send } from '../raw-http.ts'
import { password, startDeployment } from './processes.ts'

const origin = 'https://vpn.corp.example'
/** Longer than a lease. */
const patienceMs = 40_000

test('killed in the middle of a run and started again: it is finished, and each step was made once', async (t) => {
  const { database, start } = await startDeployment(t)
  const sql = async () => {
    const client = new pg.Client({ connectionString: database.url })
    client.on('error', () => {})
    await client.connect()
    t.after(() => client.end())
    return client
  }
  const asks = await sql()
  const until = async (question: string, what: string) => {
    for (const end = performance.now() + patienceMs; performance.now() < end; await delay(20))
      if ((await asks.query(question)).rows.length > 0) return
    assert.fail(`${what} did not come to hold`)
  }
  const signIn = async (port: number) => {
    const url = `http://127.0.0.1:${port}`
    const got = await send(url, { method: 'POST', path: '/admin/login', json: { username: 'admin', password } })
    assert.equal(got.status, 200, got.text)
    const headers = { cookie: cookieOf(got), origin }
    return (path: string, json: unknown) => send(url, { method: 'POST', path, json, headers })
  }

  // `before`: killed while the change waits; `after`: when it is committed and nobody has noted it.
  for (const when of ['before', 'after'] as const) {
    const process = await start()
    const post = await signIn(process.port)
    const made = await post('/v1/admin/users/lifecycle', { operation: 'create', user: { username: `of-${when}` } })
    const { user_id } = made.json.user
    const [holdsUser, holdsRun] = [await sql(), await sql()]
    await holdsUser.query(`begin; select from users where username = 'of-${when}' for update`)
    const asked = post('/v1/admin/workflows/run', { workflow: 'offboard_user', params: { user_id } }).catch(
      () => undefined,
    )
    await until("select from workflow_steps where step = 1 and status = 'running'", 'the first step begins')
    if (when === 'after') {
      await holdsRun.query("begin; select from workflow_runs where status = 'running' for update")
      await holdsUser.query('commit')
      await until("select from idempotency_keys where principal like 'workflow_run:%' and state = 'done'", 'the change')
    }
    process.kill()
    await process.end()
    await asked
    await holdsUser.query('rollback')
    await holdsRun.query('rollback')
    const next = await start()
    const began = performance.now()
    await until(
      `select from workflow_runs r where not exists (select from workflow_runs where status = 'running')`,
      'the run ends',
    )
    t.diagnostic(`killed ${when} the change: finished ${Math.round(performance.now() - began)} ms after the next start`)
    const { rows: runs } = await asks.query('select status from workflow_runs')
    assert.deepEqual(new Set(runs.map((r) => r.status)), new Set(['succeeded']))
    const { rows } = await asks.query(
      `select from (select record from audit_log union all select record from audit_arrivals) as e
       where record::jsonb ->> 'kind' = 'user.changed' and record::jsonb ->> 'operation' = 'suspend'
         and record::jsonb ->> 'user_id' = $1`,
      [user_id],
    )
    assert.equal(rows.length, 1, `${when}: suspended once`)
    next.kill()
    await next.end()
  }
})
