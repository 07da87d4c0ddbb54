import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inBrowser, openGround } from './ground.ts'
import { fillSignIn, openPage } from './page.ts'

test('a person signs in by keyboard alone and gets the requested page', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openPage(t, ground)
  await page.goto('/admin/password')
  assert.equal(new URL(page.url()).pathname, '/admin/login', 'a browser without a session signs in first')
  const { username, password } = ground.signInOf('helpdesk')
  // The first field has the focus from the first frame on.
  await page.locator('#username:focus').waitFor()
  await page.keyboard.type(username)
  await page.keyboard.press('Tab')
  await page.keyboard.type(password)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.waitForURL('/admin/password')
  assert.equal(await page.locator('h1').innerText(), 'Change your password')
})

test('after a wrong password the name is kept, and the focus is on the password', inBrowser, async (t) => {
  const page = await openPage(t, await openGround())
  await page.goto('/admin/login')
  await fillSignIn(page, { username: 'helpdesk', password: 'not hers' })
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  assert.equal(await page.getByLabel('Username').inputValue(), 'helpdesk')
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'password')
})

test('a broken draft takes no view away, and a key at the window is no input of a field', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'admin' })
  await page.goto('/admin/devices')
  const { me, version } = await page.evaluate(() => JSON.parse(document.getElementById('boot')?.textContent ?? ''))
  const unknown = { kind: 'device_deed', target: 7 }
  const drafts = [
    '{"user":',
    'null',
    '7',
    JSON.stringify({ version, user: me.user.user_id, values: null }),
    JSON.stringify({ version: 'earlier', user: me.user.user_id, values: { overlay: unknown } }),
  ]
  for (const draft of drafts) {
    await page.evaluate((text) => sessionStorage.setItem('holdfast.drafts', text), draft)
    await page.reload()
    await page.locator('tbody tr').first().waitFor()
    assert.equal(await page.evaluate(() => sessionStorage.getItem('holdfast.drafts')), null, draft)
  }
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
  for (const target of ['window', 'document']) {
    await page.evaluate((name) => {
      const at = name === 'window' ? window : document
      at.dispatchEvent(new KeyboardEvent('keydown', { key: '?', bubbles: true }))
    }, target)
    await help.waitFor()
    await page.keyboard.press('Escape')
    await help.waitFor({ state: 'detached' })
  }
})
