import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { createAuthenticator, makeUser, passwordOf, signInAs } from '../../server/test/support/actors/people.ts'
import { axeFindings } from './axe.ts'
import { assertForgotten } from './forgotten.ts'
import { type Ground, inBrowser, openGround } from './ground.ts'
import { fillSignIn, openPage, settle } from './page.ts'

/** Creates a user for this test only, and opens the page of the account. */
async function openAccount(t: TestContext, ground: Ground, username: string): Promise<Page> {
  await makeUser(ground.kit, username, ['tenant_admin'])
  const page = await openPage(t, ground)
  await page.goto('/admin/login?next=/admin/me')
  await fillSignIn(page, { username, password: passwordOf(username) })
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => url.pathname === '/admin/me')
  await settle(page)
  return page
}
test(
  'my account: a wrong password stands at its field, and a new one ends the other sessions',
  inBrowser,
  async (t) => {
    const ground = await openGround()
    const page = await openAccount(t, ground, 'paula')
    const elsewhere = await signInAs(ground.kit, 'paula')
    const fill = async (current: string, next: string) => {
      await page.getByLabel('Current password').fill(current)
      await page.getByLabel('New password', { exact: true }).fill(next)
      await page.getByLabel('New password again').fill(next)
      await page.getByRole('button', { name: 'Change password' }).click()
    }
    const next = 'harbour violin seventeen moss'
    await fill(passwordOf('paula'), 'too short')
    await page.getByText('The new password must have at least 15 characters.').waitFor()
    await fill('not the password of paula', next)
    await page.getByText('The current password is wrong.').waitFor()
    await page.locator('[autocomplete="current-password"][aria-invalid="true"]:focus').waitFor()
    assert.deepEqual(await axeFindings(page), [])
    await fill(passwordOf('paula'), next)
    await page.getByText('Ended: 1 other session').waitFor()
    assert.equal((await elsewhere.get('/v1/admin/me')).status, 401)
    assert.equal(await page.getByLabel('Current password').inputValue(), '')
    await assertForgotten(page, next)
  },
)

test(
  'my account: a second factor is set up with QR code and codes that show once, and turned off',
  inBrowser,
  async (t) => {
    const ground = await openGround()
    const page = await openAccount(t, ground, 'frida')
    await page.getByRole('button', { name: /^Set up second factor/ }).click()
    await page.getByLabel('Your password').fill('wrong')
    await page.keyboard.press('Enter')
    await page.getByText('The password is wrong.').waitFor()
    await page.getByLabel('Your password').fill(passwordOf('frida'))
    await page.keyboard.press('Enter')
    await page.getByRole('img', { name: 'QR code for your authenticator app' }).waitFor()
    const seed = await page.getByRole('group', { name: 'Key' }).locator('code').innerText()
    const app = createAuthenticator(seed)
    await page.getByLabel('Code from the app').fill(app.wrong())
    await page.keyboard.press('Enter')
    await page.getByText('The code is not the current code').waitFor()
    assert.deepEqual(await axeFindings(page), [])
    await page.getByLabel('Code from the app').fill(app.code())
    await page.keyboard.press('Enter')
    const codes = (await page.getByRole('group', { name: 'Set of recovery codes' }).locator('code').innerText()).split(
      '\n',
    )
    assert.equal(codes.length, 10)
    await page.keyboard.press('Escape')
    await page.getByText('Close? The secret is not shown again.').waitFor()
    await page.getByRole('button', { name: 'Keep it open' }).click()
    await page.getByLabel('I have stored the set of recovery codes').check()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText('10 codes left').waitFor()
    for (const secret of [seed, ...codes.slice(0, 1)]) await assertForgotten(page, secret)
    await page.getByRole('button', { name: /^Turn off second factor/ }).click()
    await page.getByLabel('Your password').fill(passwordOf('frida'))
    await page.getByLabel('Code from the app, or a recovery code').fill(codes[0]!)
    await page.getByRole('button', { name: 'Turn off second factor', exact: true }).click()
    await page.waitForURL(/\/admin\/login\?next=/)
    await signInAs(ground.kit, 'frida')
  },
)

test('my account: sessions elsewhere end one by one and all at once, and this one goes on', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openAccount(t, ground, 'sonja')
  const others = [
    await signInAs(ground.kit, 'sonja'),
    await signInAs(ground.kit, 'sonja'),
    await signInAs(ground.kit, 'sonja'),
  ]
  const stillIn = async () =>
    (await Promise.all(others.map((other) => other.get('/v1/admin/me')))).filter((got) => got.status === 200).length
  await page.reload()
  await page.getByText('this one', { exact: true }).waitFor()
  await page
    .getByRole('button', { name: /^End session of/ })
    .first()
    .click()
  await page.getByText('3 sessions').waitFor()
  assert.equal(await stillIn(), 2)
  await page.getByRole('button', { name: /^End all other sessions/ }).click()
  await page.getByRole('button', { name: 'End 2 other sessions' }).click()
  await page.getByText('There is no other session.').waitFor({ state: 'attached' })
  assert.equal(await stillIn(), 0)
  await page.getByRole('button', { name: 'Local' }).click()
  await page.waitForURL(/tz=local/)
  await page.getByRole('button', { name: 'Dark' }).click()
  await page.goto('/admin/me')
  await page.getByText('times in local time').waitFor()
  assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark')
  await page.getByRole('button', { name: 'Sign out' }).first().click()
  await page.waitForURL((url) => url.pathname === '/admin/login')
})
