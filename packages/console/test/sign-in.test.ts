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
