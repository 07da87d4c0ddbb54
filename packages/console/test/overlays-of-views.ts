import type { Page } from 'playwright-core'
import type { View } from './views.ts'

const openBy = (name: string | RegExp, then: 'dialog' | 'alertdialog' | 'menu') => async (page: Page) => {
  await page.getByRole('button', { name }).first().click()
  await page.getByRole(then).first().waitFor()
}

async function selectAll(page: Page, verb: string): Promise<void> {
  await page.getByLabel('Select all on this page').check()
  await page.getByRole('toolbar').getByRole('button', { name: verb }).click()
  await page.getByRole('alertdialog').waitFor()
}

/** Opens the result of a bulk change, with a response that lists one device as failed. */
async function openBatchResult(page: Page): Promise<void> {
  const ids = await page.locator('tr[data-id]').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-id')))
  const [changed, failed] = ids
  const results = [
    { device_id: changed, outcome: 'changed' },
    { device_id: failed, outcome: 'failed', error: 'the device is revoked' },
  ]
  const answer = { matched: 2, results, summary: { changed: 1, unchanged: 0, failed: 1 } }
  await page.route('**/v1/admin/devices/batch*', (route) => route.fulfill({ json: answer }))
  for (const nth of [0, 1]) await page.locator('[data-row-link]').nth(nth).press('x')
  await page.getByRole('toolbar').getByRole('button', { name: 'Suspend' }).click()
  await page.getByRole('button', { name: 'Suspend 2 devices' }).click()
  await page.getByRole('dialog', { name: /: results/ }).waitFor()
}

async function openSession(page: Page): Promise<void> {
  await page.locator('[data-row-link]').first().click()
  await page.getByRole('complementary', { name: /^Session of/ }).waitFor()
}

async function openVersion(page: Page): Promise<void> {
  await page.locator('[data-row-link]').last().click()
  await page.getByRole('complementary', { name: /^Version v1/ }).waitFor()
}

async function endSession(page: Page): Promise<void> {
  await page.locator('[data-row-link]').first().focus()
  await page.keyboard.press('e')
  await page.getByRole('alertdialog').waitFor()
}

async function createToken(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Create token' }).click()
  await page.getByText('Waiting for the device…').waitFor()
}

async function runLostDevice(page: Page): Promise<void> {
  await page.locator('[data-row-link]').first().focus()
  await page.keyboard.press('l')
  await page.getByRole('button', { name: /^Revoke pixel/ }).click()
  await page.getByText('All reachable gateways confirmed.').waitFor()
}

const [devices, device] = ['/admin/devices', '/admin/devices/$device_id']
const tabs = ['sessions', 'policy', 'certificates', 'activity']

/** Overlays of single views, and their tabs. The last ones change the fleet. */
export const overlaysOfViews: readonly View[] = [
  { name: 'row-menu', path: devices, as: 'admin', open: openBy(/^Actions for/, 'menu') },
  { name: 'more-filters', path: devices, as: 'admin', open: openBy('More filters', 'menu') },
  { name: 'confirm-many', path: devices, as: 'admin', open: (page) => selectAll(page, 'Revoke') },
  { name: 'batch-result', path: devices, as: 'admin', open: openBatchResult },
  ...tabs.map((tab): View => ({ name: `device-${tab}`, path: `${device}?tab=${tab}`, as: 'admin' })),
  {
    name: 'chart-table',
    path: '/admin/sessions',
    as: 'admin',
    open: (page) => page.getByRole('button', { name: 'Show as table' }).first().click(),
  },
  { name: 'session-panel', path: '/admin/sessions', as: 'admin', open: openSession },
  { name: 'session-end', path: '/admin/sessions', as: 'admin', open: endSession },
  { name: 'alert-panel', path: '/admin/alerts?open=$notification_id', as: 'admin' },
  { name: 'token-panel', path: '/admin/enrollment?open=$token_id', as: 'admin' },
  {
    name: 'token-revoke',
    path: '/admin/enrollment?open=$token_id',
    as: 'admin',
    open: openBy('Revoke…', 'alertdialog'),
  },
  { name: 'install-lines', path: '/admin/enrollment', as: 'admin', open: openBy('Install lines…', 'dialog') },
  { name: 'release-panel', path: '/admin/updates?open=$release_id', as: 'admin' },
  { name: 'release-new', path: '/admin/updates', as: 'admin', open: openBy('New release', 'dialog') },
  {
    name: 'release-publish',
    path: '/admin/updates?open=$release_id',
    as: 'admin',
    open: openBy('Publish…', 'alertdialog'),
  },
  { name: 'policy-history-panel', path: '/admin/policy/history', as: 'admin', open: openVersion },
  { name: 'policy-promote', path: '/admin/policy', as: 'admin', open: openBy('Override…', 'alertdialog') },
  { name: 'policy-rollout', path: '/admin/policy', as: 'admin', open: openBy('Change rollout…', 'dialog') },
  { name: 'policy-draft', path: '/admin/policy/edit?draft=$draft_id', as: 'admin' },
  { name: 'policy-draft-tests', path: '/admin/policy/edit?draft=$draft_id&tab=tests&look=rules', as: 'admin' },
  {
    name: 'policy-rule',
    path: '/admin/policy/edit?draft=$draft_id',
    as: 'admin',
    open: openBy(/^Edit rule git/, 'dialog'),
  },
  { name: 'policy-review', path: '/admin/policy/review?draft=$draft_id', as: 'admin' },
  { name: 'policy-who', path: '/admin/policy/what-if?ask=who&target=wiki&against=canary', as: 'admin' },
  {
    name: 'policy-answer',
    path: '/admin/policy/what-if?device_id=$device_id&target=git&against=draft:$draft_id',
    as: 'admin',
  },
  { name: 'tenant-menu', path: '/admin/start', as: 'admin', open: openBy(/change tenant/, 'menu') },
  { name: 'enroll-token', path: '/admin/enrollment/new', as: 'admin', open: createToken },
  { name: 'lost-device-run', path: `${devices}?effective_status=active&q=pixel`, as: 'admin', open: runLostDevice },
]
