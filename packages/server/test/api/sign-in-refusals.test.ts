import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeSecuritySettings } from '@holdfast/sdk'
import type { ReturnReason } from '../../src/modules/federation/sign-in/refused-returns.ts'
import type { Reason } from '../../src/modules/identity/signin/sign-in-steps.ts'
import { enrollFactor, makeUser, passwordOf, trySignIn, untilNextStep } from '../support/actors/people.ts'
import { openBrowser } from '../support/clients/browser.ts'
import { createClock } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { startFederated } from '../support/providers/oidc-sign-in.ts'

test('every way in which a sign-in with a password ends without a session is on record, with its reason and the name', async (t) => {
  const clock = createClock(untilNextStep())
  const { kit, signIn } = await startFederated(t, {
    people: { anna: { name: 'anna' } },
    settings: { provisioning: 'create' },
    now: clock.now,
  })
  for (const username of ['suspended', 'locked', 'ana', 'ben', 'temporary']) await makeUser(kit, username, ['viewer'])
  const idOf = async (q: string) => (await kit.admin.listUsers({ query: { q } })).items[0]?.user_id ?? ''
  await enrollFactor(kit, 'ana', clock.now)
  await signIn('anna')
  await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'bare' } } })
  await kit.admin.suspendUser({ body: { user_id: await idOf('suspended') } })
  const { secret: temporary } = await kit.admin.changePassword({
    body: { user_id: await idOf('temporary'), generate: true },
  })
  const browser = openBrowser(kit)
  const asked = await browser.submit(await browser.get('/admin/login'), {
    username: 'ana',
    password: passwordOf('ana'),
  })
  const code = (challenge: string) => browser.submit(asked, { challenge, totp: '123456' })
  const challenge = /name="challenge" value="([^"]+)"/.exec(asked.text)?.[1] ?? assert.fail(asked.text)
  const elsewhere = { headers: { origin: 'https://elsewhere.example' } }
  const lock = async () => {
    await changeSecuritySettings(kit.admin, { login: { lockout_threshold: 1 } })
    await trySignIn(kit, 'locked', { password: 'wrong' })
    return trySignIn(kit, 'locked')
  }
  const late = async () => {
    clock.advance(301)
    return code(challenge)
  }
  const muchLater = async () => {
    clock.advance(8 * 24 * 3600)
    return trySignIn(kit, 'temporary', { password: String(temporary) })
  }
  const enforce = async () => {
    await kit.admin.setBreakGlass({ body: { user_id: await idOf('admin'), break_glass: true } })
    await changeSecuritySettings(kit.admin, { login: { enforce_sso: true } })
    return trySignIn(kit, 'ben')
  }

  // One case for each reason; a new reason needs a new case.
  const ways: Record<Reason, [name: string, way: () => Promise<{ status: number }>]> = {
    other_site: ['ana', () => trySignIn(kit, 'ana', {}, elsewhere)],
    unknown_challenge: ['', () => code('not sealed here')],
    unknown_tenant: ['nowhere/ana', () => trySignIn(kit, 'nowhere/ana')],
    unknown_user: ['nobody', () => trySignIn(kit, 'nobody')],
    suspended: ['suspended', () => trySignIn(kit, 'suspended')],
    no_password: ['bare', () => trySignIn(kit, 'bare')],
    external_account: ['anna', () => trySignIn(kit, 'anna')],
    wrong_password: ['ben', () => trySignIn(kit, 'ben', { password: 'wrong' })],
    missing_second_factor: ['ana', () => trySignIn(kit, 'ana')],
    wrong_second_factor: ['ana', () => trySignIn(kit, 'ana', { totp: '000000' })],
    locked: ['locked', lock],
    challenge_expired: ['ana', late],
    password_expired: ['temporary', muchLater],
    sso_enforced: ['ben', enforce],
  }
  for (const [reason, [name, way]] of Object.entries(ways)) {
    const { status } = await way()
    assert.ok(status === 401 || status === 403, `${reason}: ${status}`)
    const [event] = await eventsOf(kit, 'login.failed')
    assert.deepEqual(
      [event?.failure_reason, event?.username, event?.outcome, event?.source_ip],
      [reason, name, 'refused', '127.0.0.1'],
    )
  }

  // Refusals without an account are recorded as one event with a count.
  for (let i = 0; i < 5; i++) await code(challenge)
  await kit.app.identity.stop()
  const [counted] = await eventsOf(kit, 'login.failed')
  assert.deepEqual([counted?.failure_reason, counted?.details?.refused], ['challenge_expired', 5])
})

test('an answer counts for the browser, the provider and the moment it was meant for, and once', async (t) => {
  const clock = createClock()
  const { kit, provider, set, wayBack } = await startFederated(t, {
    people: { anna: { name: 'anna' } },
    settings: { provisioning: 'create' },
    now: clock.now,
  })
  const texts = new Set<string>()
  const seen = new Set<ReturnReason>()
  /** No session; the reason is in the audit log, and not in the answer. */
  const refused = async (reason: ReturnReason | 'turned_off', path: string, browser = openBrowser(kit)) => {
    const answer = await browser.get(path)
    assert.equal(answer.status, 401, answer.text)
    assert.equal(browser.cookies.has('holdfast_session'), false)
    texts.add(answer.text)
    const [event] = (await kit.admin.listAuditEvents({ query: { kind: 'login.failed', limit: 1 } })).items
    assert.ok(event && 'failure_reason' in event, reason)
    assert.deepEqual([event.failure_reason, event.outcome, event.source_ip], [`oidc:${reason}`, 'refused', '127.0.0.1'])
    if (reason !== 'turned_off') seen.add(reason)
  }
  const { browser, path } = await wayBack()
  await refused('no_cookie', path)
  await refused('unknown_state', path.replace(/state=[^&]+/, 'state=another'), browser)
  await refused('no_state', path.replace(/&state=[^&]+|state=[^&]+&/, ''), browser)
  const someone = await wayBack()
  await refused('other_browser', path, someone.browser)
  const other = await kit.admin.createIdentityProvider({
    body: { name: 'Other', kind: 'oidc', enabled: false, oidc: { issuer: 'https://192.0.2.1', client_id: 'x' } },
  })
  await refused('other_provider', path.replace(provider.provider_id, other.provider_id), browser)
  await refused('unknown_provider', path.replace(provider.provider_id, 'idp_nothing'), browser)
  assert.equal((await browser.get(path)).status, 200, 'and the one that was meant still counts')
  browser.cookies.delete('holdfast_session')
  await refused('request_spent', path, browser)

  const late = await wayBack()
  const off = await wayBack()
  await set({ sign_in: false })
  await refused('turned_off', off.path, off.browser)
  await refused('turned_off', `/admin/login/oidc?provider=${provider.provider_id}`)
  await refused('unknown_tenant', `/admin/login/oidc?provider=${provider.provider_id}&tenant=nobody`)
  await refused('turned_off', `/admin/login/oidc?provider=${other.provider_id}`)
  clock.advance(11 * 60)
  await set({ sign_in: true })
  await refused('request_expired', late.path, late.browser)
  assert.equal(texts.size, 1, 'nobody is told which')
  const everyReason: Record<Exclude<ReturnReason, 'no_response'>, true> = {
    unknown_tenant: true,
    unknown_provider: true,
    no_state: true,
    unknown_state: true,
    no_cookie: true,
    other_browser: true,
    other_provider: true,
    request_expired: true,
    request_spent: true,
  }
  assert.deepEqual([...seen].sort(), Object.keys(everyReason).sort())
})
