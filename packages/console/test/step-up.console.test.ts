import assert from 'node:assert/strict'
import { before, type TestContext, test } from 'node:test'
import { changeSecuritySettings } from '@holdfast/sdk'
import type { Page } from 'playwright-core'
import { createAuthenticator, makeUser, passwordOf } from '../../server/test/people.ts'
import { axeFindings } from './axe.ts'
import { type Ground, inBrowser, openGround } from './ground.ts'
import { fillSignIn, openPage, settle } from './page.ts'

before(async () => {
  if (inBrowser.skip) return
  const { kit } = await openGround()
  await changeSecuritySettings(kit.admin, { mfa: { step_up: true } })
})

/** An administrator at the list of devices. */
async function openDevices(t: TestContext, ground: Ground, username: string): Promise<Page> {
  await makeUser(ground.kit, username, ['tenant_admin'])
  const page = await openPage(t, ground)
  await page.goto('/admin/login?next=/admin/devices')
  await fillSignIn(page, { username, password: passwordOf(username) })
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => url.pathname === '/admin/devices')
  return page
}

/** Sets up an authenticator app for the person who has signed in. */
async function enrollApp(page: Page, current_password: string) {
  const post = (path: string, body: object) =>
    page.evaluate(
      async ([to, json]) => {
        const headers = { 'content-type': 'application/json' }
        return await (await fetch(to, { method: 'POST', headers, body: JSON.stringify(json) })).json()
      },
      [path, body] as const,
    )
  const { secret } = await post('/v1/admin/users/totp/enroll', { current_password })
  const app = createAuthenticator(secret)
  await post('/v1/admin/users/totp/verify', { code: app.code() })
  return app
}

/** Asks to revoke a device, from the list. */
async function askToRevoke(page: Page, name: string) {
  await page.goto(`/admin/devices?q=${name}`)
  await settle(page)
  await page.keyboard.press('j')
  await page.keyboard.press('r')
  const question = page.getByRole('alertdialog', { name: `Revoke ${name}` })
  await question.getByRole('button', { name: `Revoke ${name}` }).click()
  return question
}

const statusOf = async ({ kit }: Ground, name: string) =>
  (await kit.admin.listDevices({ query: { q: name } })).items[0]?.status

test('a change that weighs much asks for a code, and is done once the code is right', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openDevices(t, ground, 'stella')
  const app = await enrollApp(page, passwordOf('stella'))
  const question = await askToRevoke(page, 'thinkpad-13')
  const dialog = page.getByRole('dialog', { name: 'Confirm with a one-time code' })
  const field = dialog.getByLabel('Code from your authenticator app')
  await field.and(page.locator(':focus')).waitFor()
  assert.deepEqual(await axeFindings(page), [])
  await page.keyboard.type('123')
  await page.keyboard.press('Enter')
  await dialog.getByText('The code has six digits').waitFor()
  await field.fill(app.wrong())
  await page.keyboard.press('Enter')
  await dialog.getByText('The code is not the current code.').waitFor()
  assert.equal(await statusOf(ground, 'thinkpad-13'), 'active')
  // The code of this step was used to set the app up.
  await field.fill(app.code(1))
  await page.keyboard.press('Enter')
  await page.getByText('thinkpad-13 revoked').waitFor()
  assert.equal(await question.count(), 0)
  assert.equal(await statusOf(ground, 'thinkpad-13'), 'revoked')
  await askToRevoke(page, 'thinkpad-18')
  await page.getByText('thinkpad-18 revoked').waitFor()
})

test('without a code nothing is done, and the question stays with the reason', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openDevices(t, ground, 'simon')
  await enrollApp(page, passwordOf('simon'))
  const question = await askToRevoke(page, 'thinkpad-23')
  await page.getByRole('dialog', { name: 'Confirm with a one-time code' }).waitFor()
  await page.keyboard.press('Escape')
  await question.getByText('This change needs a one-time code').waitFor()
  assert.equal(await statusOf(ground, 'thinkpad-23'), 'active')
})

test('a person without an authenticator app reads that it takes one', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openDevices(t, ground, 'saskia')
  const question = await askToRevoke(page, 'thinkpad-28')
  await question.getByText('your account has no authenticator app').waitFor()
  assert.equal(await page.getByRole('dialog', { name: 'Confirm with a one-time code' }).count(), 0)
  assert.equal(await statusOf(ground, 'thinkpad-28'), 'active')
})
