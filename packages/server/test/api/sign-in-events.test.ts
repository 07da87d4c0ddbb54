import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditKind } from '@holdfast/contract/vocabulary'
import { changeSecuritySettings } from '@holdfast/sdk'
import { makeUser } from '../support/actors/people.ts'
import { accountOf, signIn } from '../support/actors/sign-in.ts'
import { createClock, runJob, startKit } from '../support/deployment/deployment.ts'

test('every event of the specification carries exactly its fields', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 2 } })
  const user_id = await makeUser(kit, 'ana')
  const headers = { 'user-agent': 'curl/8' }
  await signIn(kit.url, accountOf('ana'), { headers })
  for (let i = 0; i < 2; i++) await signIn(kit.url, { username: 'ana', password: 'wrong' }, { headers })
  clock.advance(1801)
  await runJob(kit.app, 'end_idle_sessions')
  const second = await kit.admin.unlockUser({ body: { user_id } })
  assert.equal(second.changed, false, 'the lock was over by time')

  const common = [
    'event_id',
    'seq',
    'hash',
    'tenant_id',
    'kind',
    'timestamp',
    'outcome',
    'actor',
    'target',
    'source_ip',
  ]
  const all = [...common, 'user_agent', 'request_id', 'origin']
  const wanted: [AuditKind, Record<string, unknown>][] = [
    ['login.succeeded', { user_id, auth_method: 'password', source_ip: '127.0.0.1', user_agent: 'curl/8' }],
    [
      'login.failed',
      { username: 'ana', failure_reason: 'wrong_password', source_ip: '127.0.0.1', user_agent: 'curl/8' },
    ],
    ['account.locked', { username: 'ana', attempt_count: 2, source_ip: '127.0.0.1' }],
    ['session.started', { user_id, source_ip: '127.0.0.1', user_agent: 'curl/8' }],
    ['session.expired', { user_id, reason: 'timeout' }],
    ['api_key.used', { source_ip: '127.0.0.1' }],
  ]
  const own: Partial<Record<AuditKind, string[]>> = {
    'login.succeeded': ['user_id', 'auth_method'],
    'login.failed': ['username', 'failure_reason'],
    'account.locked': ['username', 'attempt_count'],
    'session.started': ['session_id', 'user_id'],
    'session.expired': ['session_id', 'user_id', 'reason'],
    'api_key.used': ['key_id', 'endpoint'],
  }
  for (const [kind, fields] of wanted) {
    const [event] = (await kit.admin.listAuditEvents({ query: { kind, limit: 1 } })).items
    assert.ok(event, kind)
    const { target, ...rest } = event
    assert.deepEqual(Object.keys({ target, ...rest }).sort(), [...all, ...own[kind]!].sort(), kind)
    for (const [name, value] of Object.entries(fields))
      assert.deepEqual((event as Record<string, unknown>)[name], value, `${kind} ${name}`)
    assert.match(event.timestamp, /^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/)
  }
})
