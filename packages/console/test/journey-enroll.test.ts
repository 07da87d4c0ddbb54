import assert from 'node:assert/strict'
import { before, type TestContext, test } from 'node:test'
import { createProof, generateKey } from '@holdfast/crypto'
import { createClient } from '@holdfast/sdk'
import type { Page } from 'playwright-core'
import { newWireguardKey } from '../../server/test/gateways.ts'
import { passwordOf } from '../../server/test/people.ts'
import { axeFindings } from './axe.ts'
import { type Ground, inBrowser, openGround } from './ground.ts'
import { fillSignIn, openPage } from './page.ts'

/** From `POST /v1/enroll` to the name of the device on the sheet. */
const promptlyMs = 3_000
/** A tenant of this file, in which there is nothing yet. */
const tenant = 'journey'
const credentials = { username: `${tenant}/ana`, password: passwordOf('ana') }

if (!inBrowser.skip)
  before(async () => {
    const { kit } = await openGround()
    const made = await kit.newTenant(tenant)
    await kit.app.identity.createUser(made, { username: 'ana', password: passwordOf('ana'), roles: ['tenant_admin'] })
  })

/** A page that may use the clipboard, at the sign-in. */
async function openSignIn(t: TestContext, ground: Ground): Promise<Page> {
  const page = await openPage(t, ground)
  await allowClipboard(page, ground)
  await page.goto('/admin/login')
  return page
}
const allowClipboard = (page: Page, { kit }: Ground) =>
  page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: kit.publicUrl })
const clipboardOf = (page: Page) => page.evaluate(() => navigator.clipboard.readText())
const secretIn = (text: string): string => /hfe_\w+/.exec(text)?.[0] ?? assert.fail(`no token in: ${text}`)

/** What the client of a device does with the line. */
function enroll({ kit }: Ground, token: string, name: string, platform: 'linux' | 'macos' = 'linux') {
  const { privateJwk } = generateKey('ES256')
  const client = createClient({
    ...{ baseUrl: kit.publicUrl, dispatcher: kit.dispatcher, credential: token },
    prove: (method: string, url: string, accessToken: string) =>
      createProof(privateJwk, { method, url, accessToken, now: new Date() }),
  })
  return client.enroll({ body: { device: { name, platform, wireguard_public_key: newWireguardKey() } } })
}

/** Waits for a text on the sheet, and holds how long that took. */
async function promptly(page: Page, text: string): Promise<void> {
  await sheetOf(page).getByText(text).first().waitFor({ timeout: promptlyMs })
}
const sheetOf = (page: Page) => page.getByRole('dialog', { name: 'Enroll device' })

/** Where a secret must not be once the sheet is closed, nor ever: address, history, storage, page. */
async function assertForgotten(page: Page, secret: string): Promise<void> {
  const found = await page.evaluate(
    (text) => ({
      address: location.href.includes(text),
      page: document.documentElement.outerHTML.includes(text),
      fields: Array.from(document.querySelectorAll('input')).some((input) => input.value.includes(text)),
      storage: JSON.stringify({ ...localStorage, ...sessionStorage }).includes(text),
      history: JSON.stringify(history.state).includes(text),
    }),
    secret,
  )
  assert.deepEqual(found, { address: false, page: false, fields: false, storage: false, history: false })
}

test(
  'J1 by mouse: four clicks from the sign-in to a line on the clipboard, then the device appears',
  inBrowser,
  async (t) => {
    const ground = await openGround()
    const page = await openSignIn(t, ground)
    let clicks = 0
    const click = async (role: 'button' | 'link', name: string) => {
      await page.getByRole(role, { name, exact: true }).first().click()
      clicks++
    }
    await fillSignIn(page, credentials)
    await click('button', 'Sign in')
    await page.getByText('Getting started: ').waitFor()
    await click('link', 'Enroll device')
    await click('button', 'Create token')
    await click('button', 'Copy enroll line')
    assert.ok(clicks <= 4, `${clicks} clicks`)
    const line = await clipboardOf(page)
    const secret = secretIn(line)
    assert.ok(line.includes(ground.kit.publicUrl), line)
    assert.ok(!page.url().includes(secret))
    await promptly(page, 'Waiting for the device…')
    await promptly(page, 'This line is an example.')
    assert.deepEqual(await axeFindings(page), [])
    await enroll(ground, secret, 'first-laptop')
    await promptly(page, 'first-laptop is enrolled')
    await assertForgotten(page, secret)
    await click('button', 'Done')
    await sheetOf(page).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'Go on' }).click()
    const step = page.getByRole('listitem').filter({ hasText: 'Enroll the first device' })
    await step.getByText(', done').waitFor()
    assert.deepEqual(await axeFindings(page), [])
  },
)

test(
  'J1 by keyboard: no pointer from the sign-in to the enrolled device, and Esc asks while the token shows',
  inBrowser,
  async (t) => {
    const ground = await openGround()
    const page = await openSignIn(t, ground)
    const { keyboard } = page
    const type = async (...keys: string[]) => {
      for (const key of keys) await keyboard.press(key)
    }
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '')
    await keyboard.type(credentials.username)
    await type('Tab')
    await keyboard.type(credentials.password)
    await type('Enter')
    await page.getByRole('link', { name: 'Enroll device' }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').waitFor()
    // Behind `>` the palette offers commands alone.
    await keyboard.type('>enroll')
    await page.getByRole('option', { name: 'Enroll device' }).first().waitFor()
    await type('Enter')
    await sheetOf(page).waitFor()
    await page.waitForFunction(() => document.activeElement?.textContent?.startsWith('Create token'))
    await type('Enter')
    await page.waitForFunction(() => document.activeElement?.textContent?.startsWith('Copy enroll line'))
    await type('Escape')
    await sheetOf(page).getByText('Close? The secret is not shown again.').waitFor()
    assert.equal(await focused(), 'Keep it open', 'the focus is on the safe answer')
    await type('Enter')
    assert.match(await focused(), /^Copy enroll line/)
    await type('c')
    await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes('hfe_'))
    const secret = secretIn(await clipboardOf(page))
    await enroll(ground, secret, 'second-laptop')
    await promptly(page, 'second-laptop is enrolled')
    await type('Escape')
    await sheetOf(page).waitFor({ state: 'detached' })
    await page.waitForURL('/admin/enrollment')
    await assertForgotten(page, secret)
  },
)

test(
  'a refused try shows why, a device that waits is approved on the sheet, a used token is not asked about',
  inBrowser,
  async (t) => {
    const ground = await openGround()
    const page = await openPage(t, ground, { as: 'admin' })
    await allowClipboard(page, ground)
    await page.goto('/admin/devices')
    await page.getByRole('link', { name: 'Enroll device' }).click()
    await page.getByText('Token settings').click()
    const sheet = sheetOf(page)
    await sheet.getByLabel('Only from these addresses').fill('10.20.0.0/33')
    await sheet.getByRole('button', { name: 'Create token' }).click()
    await sheet.locator('[aria-invalid=true]').waitFor()
    assert.ok(await sheet.locator('textarea[aria-invalid=true] ~ .err').innerText())
    await sheet.getByLabel('Only from these addresses').fill('')
    await sheet.getByLabel('Groups the devices join').fill('eng')
    await page.getByRole('option', { name: 'engineering' }).click()
    await sheet.getByRole('checkbox', { name: 'macOS' }).check()
    await sheet.getByRole('checkbox', { name: 'An administrator approves each device' }).check()
    await sheet.getByRole('button', { name: 'Create token' }).click()
    await sheet.getByText('joins engineering').waitFor()
    assert.equal(new URL(page.url()).pathname, '/admin/devices', 'the list behind stays')
    await sheet.getByRole('button', { name: 'Copy token only' }).click()
    const secret = secretIn(await clipboardOf(page))
    await assert.rejects(enroll(ground, secret, 'wrong-laptop', 'linux'))
    await sheet.getByText('The token does not allow the platform of the device.').waitFor()
    await sheet.getByText('A device was here and was refused').waitFor()
    await enroll(ground, secret, 'right-laptop', 'macos')
    await promptly(page, 'right-laptop waits for approval')
    assert.deepEqual(await axeFindings(page), [])
    await sheet.getByRole('button', { name: 'Approve' }).click()
    await promptly(page, 'right-laptop is enrolled')
    await page.keyboard.press('Escape')
    await sheet.waitFor({ state: 'detached' })
    await assertForgotten(page, secret)
  },
)

test(
  'support staff enroll a device, and see what they may not choose; they do not see the list',
  inBrowser,
  async (t) => {
    const ground = await openGround()
    const page = await openPage(t, ground, { as: 'helpdesk' })
    await allowClipboard(page, ground)
    await page.goto('/admin/devices')
    await page.getByRole('link', { name: 'Enroll device' }).click()
    const sheet = sheetOf(page)
    await sheet.getByText('Token settings').click()
    assert.ok(await sheet.getByLabel('Groups the devices join').isDisabled())
    await sheet.getByText('Needs the permission groups:write.').waitFor()
    await sheet.getByRole('button', { name: 'Create token' }).click()
    await sheet.getByRole('button', { name: 'Copy enroll line' }).click()
    const secret = secretIn(await clipboardOf(page))
    await enroll(ground, secret, 'desk-laptop')
    await promptly(page, 'desk-laptop is enrolled')
    await page.goto('/admin/enrollment/new')
    await sheetOf(page).getByRole('button', { name: 'Create token' }).waitFor()
    await page.goto('/admin/enrollment')
    await page.getByText('You cannot see Enrollment').waitFor()
  },
)

test('a viewer sees why enrolling is off', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'viewer' })
  await page.goto('/admin/devices')
  const button = page.getByRole('button', { name: 'Enroll device' })
  await button.waitFor()
  assert.equal(await button.getAttribute('aria-disabled'), 'true')
  await page.getByText('Needs the permission enrollment_tokens:write.').waitFor({ state: 'attached' })
  await page.goto('/admin/enrollment/new')
  await page.getByText('You cannot see Enrollment').waitFor()
  assert.equal(await sheetOf(page).count(), 0)
})

test('a token is revoked from its panel, after a question', inBrowser, async (t) => {
  const ground = await openGround()
  const { enrollment_token: made } = await ground.kit.admin.generateToken({ body: { name: 'for the panel' } })
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto(`/admin/enrollment?open=${made.token_id}`)
  const panel = page.getByRole('complementary', { name: 'Token for the panel' })
  await panel.getByText('No device has tried it.').waitFor()
  await panel.getByRole('button', { name: 'Revoke…' }).click()
  const question = page.getByRole('alertdialog')
  await page.waitForFunction(() => document.activeElement?.textContent === 'Keep token')
  await question.getByRole('button', { name: 'Revoke token' }).click()
  await panel.getByText('Revoked').first().waitFor()
  const now = await ground.kit.admin.getToken({ params: { token_id: made.token_id } })
  assert.equal(now.status, 'revoked')
})

test('install lines of the tenant stand on the sheet', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openSignIn(t, ground)
  await fillSignIn(page, credentials)
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: 'Enroll device' }).waitFor()
  await page.goto('/admin/enrollment')
  await page.getByRole('button', { name: 'Install lines…' }).click()
  const lines = page.getByRole('dialog', { name: 'Install lines' })
  await lines.getByLabel('Line for Linux').fill('acme-vpn join {server} {tokn}')
  await lines.getByRole('button', { name: 'Save install lines' }).click()
  await lines.getByText('has the unknown placeholder {tokn}').waitFor()
  assert.deepEqual(await axeFindings(page), [])
  await lines.getByLabel('Line for Linux').fill('acme-vpn join {server} {token}')
  await lines.getByRole('button', { name: 'Save install lines' }).click()
  await lines.waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'Enroll device' }).first().click()
  await page.getByRole('button', { name: 'Create token' }).first().click()
  await sheetOf(page)
    .getByText(/acme-vpn join http\S+ hfe_\w+/)
    .waitFor()
  assert.equal(await page.getByText('This line is an example.').count(), 0)
})
