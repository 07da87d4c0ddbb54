import assert from 'node:assert/strict'
import { test } from 'node:test'
import { axeFindings } from './axe.ts'
import {
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
import { fillSignIn } from './page.ts'

prepareTenant()

test(
  'J1 by mouse: four clicks lead from the sign-in to an install line on the clipboard, then the device appears',
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
    await click('button', 'Copy install line')
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
    await page.getByRole('link', { name: 'Continue setup' }).click()
    const step = page.getByRole('listitem').filter({ hasText: 'Enroll the first device' })
    await step.getByText(', done').waitFor()
    assert.deepEqual(await axeFindings(page), [])
  },
)

test(
  'J1 by keyboard: no pointer is needed from the sign-in to the enrolled device, and Esc asks while the token shows',
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
    // After `>` the palette offers only commands.
    await keyboard.type('>enroll')
    await page.getByRole('option', { name: 'Enroll device' }).first().waitFor()
    await type('Enter')
    await sheetOf(page).waitFor()
    await page.waitForFunction(() => document.activeElement?.textContent?.startsWith('Create token'))
    await type('Enter')
    await page.waitForFunction(() => document.activeElement?.textContent?.startsWith('Copy install line'))
    await type('Escape')
    await sheetOf(page).getByText('Close? The secret is not shown again.').waitFor()
    assert.equal(await focused(), 'Keep it open', 'the focus is on the safe answer')
    await type('Enter')
    assert.match(await focused(), /^Copy install line/)
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
