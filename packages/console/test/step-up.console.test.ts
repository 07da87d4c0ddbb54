import assert from 'node:assert/strict'
import { before, type TestContext, test } from 'node:test'
import { changeSecuritySettings } from '@holdfast/sdk'
import type { Page } from 'playwright-core'
import { createAuthenticator, makeUser, passwordOf } from '../../server/test/support/actors/people.ts'
import { axeFindings } from './axe.ts'
import { type Ground, inBrowser, openGround } from './ground.ts'
import { fillSignIn, openPage, settle } from './page.ts'

before(async () => {
  if (inBrowser.skip) return
  const { kit } = await openGround()
  await changeSecuritySettings(kit.admin, { mfa: { step_up: true } })
})

/** Signs in a new administrator, and opens the list of devices. */
async function openDevices(t: TestContext, ground: Ground, username: string): Promise<Page> {
  await makeUser(ground.kit, username, ['tenant_admin'])
  const page = await openPage(t, ground)
  await page.goto('/admin/login?next=/admin/devices')
  await fillSignIn(page, { username, password: passwordOf(username) })
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => url.pathname === '/admin/devices')
  return page
}

/** Sets up an authenticator app for the signed-in person. */
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

/** Opens the confirmation to revoke the two matching devices, from the list. */
async function askToRevoke(page: Page, q: string) {
  await page.goto(`/admin/devices?q=${q}`)
  await settle(page)
  await page.keyboard.press('j')
  await page.keyboard.press('Control+a')
  await page.getByRole('toolbar').getByRole('button', { name: 'Revoke' }).click()
  const question = page.getByRole('alertdialog', { name: 'Revoke 2 devices' })
  await question.getByRole('button', { name: 'Revoke 2 devices' }).click()
  return question
}

const statusesOf = async ({ kit }: Ground, q: string) =>
  (await kit.admin.listDevices({ query: { q } })).items.map(({ status }) => status)
const active = ['active', 'active']
const revoked = ['revoked', 'revoked']

test('a sensitive change asks for a code, and is made once the code is right', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openDevices(t, ground, 'stella')
  const app = await enrollApp(page, passwordOf('stella'))
  const question = await askToRevoke(page, 'thinkpad-1')
  const dialog = page.getByRole('dialog', { name: 'Confirm with a one-time code' })
  const field = dialog.getByLabel('Code from your authenticator app')
  await field.and(page.locator(':focus')).waitFor()
  assert.deepEqual(await axeFindings(page), [])
  await page.keyboard.type('123')
  await page.keyboard.press('Enter')
  await dialog.getByText('The code has six digits').waitFor()
  await field.fill(app.wrong())
  await field.press('Enter')
  await dialog.getByText('The code is not the current code.').waitFor()
  assert.deepEqual(await statusesOf(ground, 'thinkpad-1'), active)
  // The code of this time step was used to set up the app.
  await field.fill(app.code(1))
  await field.press('Enter')
  await page.getByText('2 devices revoked').waitFor()
  assert.equal(await question.count(), 0)
  assert.deepEqual(await statusesOf(ground, 'thinkpad-1'), revoked)
  await askToRevoke(page, 'macbook-1')
  await page.getByText('2 devices revoked').waitFor()
  assert.deepEqual(await statusesOf(ground, 'macbook-1'), revoked, 'a code holds for more than one change')
})

test('a role is granted once the code is right', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openDevices(t, ground, 'sophie')
  const app = await enrollApp(page, passwordOf('sophie'))
  const user_id = await makeUser(ground.kit, 'severin')
  await page.goto(`/admin/roles?tab=person&user_id=${user_id}`)
  await page.getByRole('button', { name: 'Grant role…' }).click()
  await page.getByRole('radio', { name: 'Viewer' }).check()
  await page.getByRole('dialog').getByRole('button', { name: 'Grant role', exact: true }).click()
  const field = page.getByLabel('Code from your authenticator app')
  await field.fill(app.code(1))
  await field.press('Enter')
  await page.getByText('severin is Viewer now').waitFor()
  await page
    .getByRole('region', { name: 'What severin can do' })
    .getByRole('row', { name: /^Devices/ })
    .waitFor()
  assert.deepEqual((await ground.kit.admin.getUser({ params: { user_id } })).roles, ['viewer'])
})

test('without a code nothing is changed, and the dialog stays open with the reason', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openDevices(t, ground, 'simon')
  await enrollApp(page, passwordOf('simon'))
  const question = await askToRevoke(page, 'thinkpad-2')
  await page.getByRole('dialog', { name: 'Confirm with a one-time code' }).waitFor()
  await page.keyboard.press('Escape')
  await question.getByText('This change needs a one-time code').waitFor()
  assert.deepEqual(await statusesOf(ground, 'thinkpad-2'), active)
})

test('a person without an authenticator app reads that the change needs one', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openDevices(t, ground, 'saskia')
  const question = await askToRevoke(page, 'thinkpad-3')
  await question.getByText('your account has no authenticator app').waitFor()
  assert.equal(await page.getByRole('dialog', { name: 'Confirm with a one-time code' }).count(), 0)
  assert.deepEqual(await statusesOf(ground, 'thinkpad-3'), active)
})
