import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import { settle } from './page.ts'

/** Opens the list of devices, and waits until it has settled. */
export async function openDevices(page: Page, search = ''): Promise<void> {
  await page.goto(`/admin/devices${search}`)
  await settle(page)
}

/** Returns the sentence at the end of the playbook. */
export const confirmed = (page: Page): Locator => page.getByText('All reachable gateways confirmed.')

/** Waits for the end of the run, and checks its steps and gateways. */
export async function readRun(page: Page, name: string): Promise<void> {
  await confirmed(page).waitFor()
  const sheet = page.getByRole('dialog', { name: `${name} is revoked` })
  assert.equal(await sheet.getByRole('listitem').count(), 2, 'both steps of the playbook')
  const cells = sheet.getByRole('img', { name: '10 of 10 gateways confirmed, 1 not reachable' }).locator('.cell')
  const states = await cells.evaluateAll((all) => all.map((cell) => cell.getAttribute('title')?.split(': ')[1]))
  assert.deepEqual(states.sort(), [...Array(10).fill('confirmed'), 'not reachable'], 'one cell for each gateway')
}
