import assert from 'node:assert/strict'
import { test } from 'node:test'
import { axeFindings } from './axe.ts'
import {
  allowClipboard,
  clipboardOf,
  credentials,
  enroll,
  openSignIn,
  prepareTenant,
  promptly,
  secretIn,
  sheetOf,
} from './enrolling.ts'
import { assertForgotten } from './forgotten.ts'
import { inBrowser, openGround } from './ground.ts'
import { fillSignIn, openPage } from './page.ts'

prepareTenant()

test(
  'the sheet shows why an attempt was refused, and approves a pending device; a used token closes without a question',
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
    await sheet.getByText('A device was refused').waitFor()
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

test('helpdesk staff enroll a device, and see which settings and lists they lack', inBrowser, async (t) => {
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
  await sheet.getByRole('button', { name: 'Copy install line' }).click()
  const secret = secretIn(await clipboardOf(page))
  await enroll(ground, secret, 'desk-laptop')
  await promptly(page, 'desk-laptop is enrolled')
  await page.goto('/admin/enrollment/new')
  await sheetOf(page).getByRole('button', { name: 'Create token' }).waitFor()
  await page.goto('/admin/enrollment')
  await page.getByText('You cannot see Enrollment').waitFor()
})

test('a viewer sees why enrolling is disabled', inBrowser, async (t) => {
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

test('a token is revoked from its panel after a confirmation', inBrowser, async (t) => {
  const ground = await openGround()
  const { enrollment_token: made } = await ground.kit.admin.generateToken({ body: { name: 'for the panel' } })
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto(`/admin/enrollment?open=${made.token_id}`)
  const panel = page.getByRole('complementary', { name: 'Token for the panel' })
  await panel.getByText('No device has used it yet.').waitFor()
  await panel.getByRole('button', { name: 'Revoke…' }).click()
  const question = page.getByRole('alertdialog')
  await page.waitForFunction(() => document.activeElement?.textContent === 'Keep token')
  await question.getByRole('button', { name: 'Revoke token' }).click()
  await panel.getByText('Revoked').first().waitFor()
  const now = await ground.kit.admin.getToken({ params: { token_id: made.token_id } })
  assert.equal(now.status, 'revoked')
})

test('the enrollment sheet shows the install lines of the tenant', inBrowser, async (t) => {
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
