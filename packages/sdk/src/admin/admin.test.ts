import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Asked, startServer } from '../../test/support/scripted-server.ts'
import { createAdmin, signIn } from './admin.ts'

const login = (required_action: string | null = null) => ({
  headers: { 'set-cookie': 'holdfast_session=first; HttpOnly; Path=/' },
  body: {
    user: { user_id: 'usr_1', username: 'admin', tenant_id: 'tnt_1' },
    expires_at: '2030-01-01T00:00:00Z',
    required_action,
  },
})
/** Answers a step-up with the cookie `second`, and a logout with an empty one. */
const renewing = ({ path }: Asked) => {
  if (path === '/admin/login') return login()
  if (path.endsWith('/step-up')) return { headers: { 'set-cookie': '__Host-holdfast_session=second; Path=/' } }
  return path === '/admin/logout' ? { headers: { 'set-cookie': 'holdfast_session=; Max-Age=0' } } : {}
}
const cookies = (asked: readonly Asked[]) => asked.map(({ headers }) => headers.cookie)

test('a code goes along with the password, and only the one that was given', async (t) => {
  const { baseUrl, asked } = await startServer(t, () => login())
  const who = { baseUrl, username: 'admin', password: 'secret' }
  await signIn(who)
  await signIn({ ...who, totp: '123456' })
  await signIn({ ...who, recovery_code: '0000-1111' })
  const named = { username: 'admin', password: 'secret' }
  assert.deepEqual(
    asked.map(({ body }) => body),
    [named, { ...named, totp: '123456' }, { ...named, recovery_code: '0000-1111' }],
  )
})

test('what the session owes is told', async (t) => {
  for (const owed of [null, 'change_password', 'enroll_mfa'] as const) {
    const { baseUrl } = await startServer(t, () => login(owed))
    assert.equal((await signIn({ baseUrl, username: 'admin', password: 'secret' })).requiredAction, owed)
  }
})

test('after a renewal the client goes on with the new cookie, which its owner has heard of by then', async (t) => {
  const { baseUrl, asked } = await startServer(t, renewing)
  const heard: string[] = []
  const onCookie = async (cookie: string) => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    heard.push(cookie)
  }
  const client = createAdmin({ baseUrl, cookie: 'holdfast_session=first', onCookie })
  await client.me()
  await client.stepUp({ body: { code: '123456' } })
  assert.deepEqual(heard, ['__Host-holdfast_session=second'])
  await client.me()
  await client.logout()
  const [first, second] = ['holdfast_session=first', '__Host-holdfast_session=second']
  assert.deepEqual(cookies(asked), [first, first, second, second])
  assert.deepEqual(heard, [second], 'a cookie that is cleared is no new one')
})

test('a session that signIn started is followed just so', async (t) => {
  const { baseUrl, asked } = await startServer(t, renewing)
  const heard: string[] = []
  const onCookie = (cookie: string) => void heard.push(cookie)
  const { client } = await signIn({ baseUrl, username: 'admin', password: 'secret', onCookie })
  await client.stepUp({ body: { code: '123456' } })
  await client.me()
  assert.deepEqual(heard, ['__Host-holdfast_session=second'])
  assert.deepEqual(cookies(asked), [undefined, 'holdfast_session=first', '__Host-holdfast_session=second'])
})
