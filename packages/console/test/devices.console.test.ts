import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inBrowser, openGround } from './ground.ts'
import { openPage, settle } from './page.ts'

test('a bulk change with a row that fails names that row and its reason', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'admin' })
  await page.goto('/admin/devices?q=workstation-4')
  await settle(page)
  const batches: string[] = []
  page.on('request', (r) => r.url().includes('/devices/batch') && batches.push(r.postData() ?? ''))
  await page.keyboard.press('j')
  await page.keyboard.press('Control+a')
  await page.getByRole('toolbar').getByRole('button', { name: 'Suspend' }).click()
  await page.getByRole('button', { name: /^Suspend \d devices$/ }).click()
  const result = page.getByRole('dialog', { name: /what became of each/ })
  await result.waitFor()
  assert.match(await result.getByRole('status').innerText(), /^\d changed, \d unchanged, 1 failed\.$/)
  assert.match(await result.getByRole('listitem').first().innerText(), /workstation-46[\s\S]*revoked/)
  assert.equal(batches.length, 1, 'one request for all of them')
  await page.keyboard.press('Escape')
  await settle(page)
  assert.equal(await page.getByRole('toolbar').count(), 0, 'nothing stays selected')
})

test('a pending device is approved with one key, and the list shows it', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'admin' })
  await page.goto('/admin/devices?q=thinkpad-63')
  await settle(page)
  await page.keyboard.press('j')
  await page.keyboard.press('a')
  await page.getByText('thinkpad-63 approved').waitFor()
  await settle(page)
  assert.match(await page.getByRole('row', { name: /thinkpad-63/ }).innerText(), /Active/)
})

test('an edit that somebody else overtook is not saved, and offers their version', inBrowser, async (t) => {
  const { kit } = await openGround()
  const page = await openPage(t, await openGround(), { as: 'admin' })
  await page.goto('/admin/devices?q=thinkpad-58')
  await settle(page)
  const device_id = (await page.locator('tr[data-id]').getAttribute('data-id')) ?? ''
  await page.goto(`/admin/devices/${device_id}`)
  await settle(page)
  await page.getByRole('button', { name: /More actions/ }).click()
  await page.getByRole('menuitem', { name: /Edit/ }).click()
  const sheet = page.getByRole('dialog', { name: /Edit thinkpad-58/ })
  await sheet.getByLabel('Name').fill('thinkpad-58-mine')
  await kit.admin.changeDevice({ body: { operation: 'update', device_id, device: { tags: ['theirs'] } } })
  await sheet.getByRole('button', { name: 'Save device' }).click()
  await sheet.getByText('Somebody else has changed this device meanwhile.').waitFor()
  assert.equal(await sheet.getByLabel('Name').inputValue(), 'thinkpad-58-mine', 'what was typed stays')
  assert.match(await sheet.getByRole('alert').innerText(), /Tags\s+theirs → –/, 'theirs stands beside it')
  await sheet.getByRole('button', { name: 'Take theirs' }).click()
  assert.equal(await sheet.getByLabel('Tags').inputValue(), 'theirs')
  await sheet.getByLabel('Name').fill('thinkpad-58-mine')
  await sheet.getByRole('button', { name: 'Save device' }).click()
  await page.getByText('thinkpad-58-mine saved').waitFor()
  const device = await kit.admin.getDevice({ params: { device_id } })
  assert.deepEqual([device.name, device.tags], ['thinkpad-58-mine', ['theirs']])
})
