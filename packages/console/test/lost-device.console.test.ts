import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inBrowser, openGround } from './ground.ts'
import { openDevices, readRun } from './lost-device-steps.ts'
import { openPage } from './page.ts'

test('J3 from the list: j, l and Enter run the playbook, and the focus returns to the row', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'admin' })
  await openDevices(page, '?q=macbook-1')
  await page.keyboard.press('j')
  const name = await page.evaluate(() => document.activeElement?.textContent ?? '')
  await page.keyboard.press('l')
  await page.getByRole('dialog', { name: `Lost device: ${name}` }).waitFor()
  await page.keyboard.press('Enter')
  await readRun(page, name)
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), name)
})

test('a helpdesk without incidents:run suspends the device instead', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'helpdesk' })
  await openDevices(page, '?q=iphone-54')
  await page.keyboard.press('j')
  await page.keyboard.press('l')
  const question = page.getByRole('alertdialog', { name: 'Suspend iphone-54?' })
  await question.waitFor()
  assert.equal(
    await question.evaluate(() => document.activeElement?.textContent),
    'Cancel',
    'the focus is on the safe button',
  )
  await question.getByRole('button', { name: 'Suspend iphone-54' }).click()
  await page.getByText('iphone-54 suspended').waitFor()
  assert.match(await page.getByRole('row', { name: /iphone-54/ }).innerText(), /Suspended/)
})

test('a viewer sees why the playbook is disabled', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'viewer' })
  await openDevices(page, '?q=iphone-59')
  await page.keyboard.press('j')
  await page.keyboard.press('l')
  const sheet = page.getByRole('dialog', { name: 'Lost device: iphone-59' })
  assert.match(await sheet.innerText(), /You cannot run this playbook\.\s+It needs the permission incidents:run/)
  assert.equal(await sheet.getByRole('button', { name: /Suspend|Revoke/ }).count(), 0)
  await page.keyboard.press('Escape')
  await page.getByRole('link', { name: 'iphone-59' }).click()
  const lost = page.getByRole('button', { name: 'Lost device…' })
  await lost.waitFor()
  assert.equal(await lost.getAttribute('aria-disabled'), 'true')
  assert.ok(await page.getByText('Needs the permission incidents:run.').count(), 'the reason is beside it')
  await page.keyboard.press('Control+k')
  await page.keyboard.type('iphone-59')
  await page
    .getByRole('option', { name: /iphone-59/ })
    .first()
    .waitFor()
  assert.equal(await page.getByRole('option', { name: /Lost device/ }).count(), 0, 'the palette does not offer it')
})
