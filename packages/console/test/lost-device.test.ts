import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Locator } from 'playwright-core'
import { inBrowser, openGround } from './ground.ts'
import { confirmed, openDevices, readRun } from './lost-device-steps.ts'
import { openPage, settle } from './page.ts'

/** Goal of journey J3: time from the report of a lost device to the confirmation of every reachable gateway. */
const goalMs = 3_000
/** Limit of the test, since a machine that runs other tests is slower than one in production. */
const boundMs = 10_000

test(
  'J3 by keyboard: Ctrl K, the name of the device, Enter and Enter run the playbook without a click',
  inBrowser,
  async (t) => {
    const page = await openPage(t, await openGround(), { as: 'admin' })
    await openDevices(page)
    const began = performance.now()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('pixel-25')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Lost device: pixel-25' }).waitFor()
    await page.keyboard.press('Enter')
    await confirmed(page).waitFor()
    const took = performance.now() - began
    t.diagnostic(`${Math.round(took)} ms from the first key to all gateways; the goal is ${goalMs} ms`)
    assert.ok(took < boundMs, `${Math.round(took)} ms`)
    await readRun(page, 'pixel-25')
    await page.keyboard.press('Enter')
    await settle(page)
    const row = page.getByRole('row', { name: /pixel-25/ })
    assert.match(await row.innerText(), /Revoked/, 'the list shows it without a reload')
  },
)

test('J3 by mouse: three clicks run the playbook', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'admin' })
  await openDevices(page)
  let clicks = 0
  const click = async (target: Locator) => {
    clicks++
    await target.click()
  }
  await click(page.getByRole('button', { name: 'Search or run…' }))
  await page.keyboard.type('pixel-35')
  await click(page.getByRole('option', { name: /Lost device: pixel-35/ }))
  await click(page.getByRole('button', { name: 'Revoke pixel-35' }))
  await readRun(page, 'pixel-35')
  assert.equal(clicks, 3)
})
