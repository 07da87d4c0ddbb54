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

const users = '/admin/users'
const user = '/admin/users/$user_id'
const userTabs = ['sessions', 'groups', 'roles', 'sign-in', 'activity']

/** Opens a sheet or question about the object of the page by its menu. */
const ofMenu = (item: RegExp) => async (page: Page) => {
  await openBy(/^More actions for/, 'menu')(page)
  await page.getByRole('menuitem', { name: item }).click()
  await page.getByRole('dialog').or(page.getByRole('alertdialog')).waitFor()
}

async function checkAllTargets(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Check all resources' }).click()
  await page.getByRole('tabpanel').getByText('of 2 can be reached').waitFor()
}

/** Opens the result of a bulk change, with one refusal. The server changes nothing. */
async function openUsersResult(page: Page): Promise<void> {
  const answer = { operation: 'suspend', changed: false, user: {}, sessions_terminated: 0, warnings: [] }
  const refusal = { error: 'not_found', detail: 'deleted', request_id: 'req_01k00000000000000000000000' }
  let count = 0
  await page.route('**/v1/admin/users/suspend*', (route) =>
    ++count === 2 ? route.fulfill({ status: 404, json: refusal }) : route.fulfill({ json: answer }),
  )
  for (const nth of [1, 3, 4]) await page.locator('[data-row-link]').nth(nth).press('x')
  await page.getByRole('toolbar').getByRole('button', { name: 'Suspend' }).click()
  await page.getByRole('button', { name: 'Suspend 3 users' }).click()
  await page.getByRole('dialog', { name: /: results/ }).waitFor()
}

async function generatePassword(page: Page): Promise<void> {
  await page.keyboard.press('p')
  await page.getByRole('button', { name: 'Generate password' }).click()
  await page.getByLabel('I have stored the temporary password').waitFor()
}

/** Views of users with an open tab, sheet or question. The last one changes the user. */
const ofUsers: readonly View[] = [
  { name: 'user-panel', path: `${users}?open=$user_id`, as: 'admin' },
  ...userTabs.map((tab): View => ({ name: `user-${tab}`, path: `${user}?tab=${tab}`, as: 'admin' })),
  { name: 'user-access', path: `${user}?tab=access`, as: 'admin', open: checkAllTargets },
  { name: 'user-create', path: users, as: 'admin', open: openBy('Add user', 'dialog') },
  { name: 'user-suspend', path: user, as: 'admin', open: openBy(/^Suspend…/, 'alertdialog') },
  { name: 'user-edit', path: user, as: 'admin', open: openBy(/^Edit…/, 'dialog') },
  { name: 'user-grant-role', path: user, as: 'admin', open: ofMenu(/^Grant role/) },
  { name: 'user-compromised', path: user, as: 'admin', open: ofMenu(/^Compromised user/) },
  { name: 'user-delete', path: user, as: 'admin', open: ofMenu(/^Delete/) },
  { name: 'users-suspend', path: users, as: 'admin', open: (page) => selectAll(page, 'Suspend') },
  { name: 'users-result', path: users, as: 'admin', open: openUsersResult },
  { name: 'user-as-helpdesk', path: user, as: 'helpdesk', open: openBy(/^More actions for/, 'menu') },
  { name: 'user-password', path: user, as: 'admin', open: openBy(/^Set password…/, 'dialog') },
  { name: 'user-secret', path: user, as: 'admin', open: generatePassword },
]

const groups = '/admin/groups'
const group = '/admin/groups/$group_id'

async function openPerson(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'helpdesk', exact: true }).click()
  await page.getByRole('heading', { name: 'What helpdesk can do' }).waitFor()
}

async function choose(page: Page, label: string, name: string): Promise<void> {
  await page.getByRole('combobox', { name: label }).fill(name)
  await page.getByRole('option', { name }).click()
}

async function addMembers(page: Page): Promise<void> {
  await openBy(/^Add members…/, 'dialog')(page)
  await choose(page, 'Members', 'carol')
  await choose(page, 'Members', 'grace')
  await page.getByLabel('Reason').focus()
}

async function rename(page: Page): Promise<void> {
  await openBy(/^Rename…/, 'dialog')(page)
  await page.getByLabel('Name', { exact: true }).fill('development')
  await page.getByText('Published rules name this group.').waitFor()
}

async function grantRole(page: Page): Promise<void> {
  await openBy('Grant role', 'dialog')(page)
  await choose(page, 'User', 'helpdesk')
  await page.getByText('The user has this role.').waitFor()
}

/** Views of groups and roles with an open tab, sheet or question. None of them changes anything. */
const ofGroups: readonly View[] = [
  { name: 'group-panel', path: `${groups}?open=$group_id`, as: 'admin' },
  ...['uses', 'devices', 'activity'].map(
    (tab): View => ({ name: `group-${tab}`, path: `${group}?tab=${tab}`, as: 'admin' }),
  ),
  { name: 'group-as-viewer', path: group, as: 'viewer' },
  { name: 'group-create', path: groups, as: 'admin', open: openBy('Create group', 'dialog') },
  { name: 'group-add-members', path: group, as: 'admin', open: addMembers },
  { name: 'group-rename', path: group, as: 'admin', open: rename },
  { name: 'group-delete', path: group, as: 'admin', open: ofMenu(/^Delete/) },
  { name: 'roles-grants', path: '/admin/roles?tab=grants', as: 'admin' },
  { name: 'roles-who', path: '/admin/roles?tab=who&permission=devices:suspend', as: 'admin' },
  { name: 'roles-person', path: '/admin/roles?tab=grants', as: 'admin', open: openPerson },
  { name: 'role-grant', path: '/admin/roles', as: 'admin', open: grantRole },
  {
    name: 'role-revoke',
    path: '/admin/roles?tab=grants',
    as: 'admin',
    open: openBy(/^Revoke… Helpdesk from/, 'alertdialog'),
  },
]

/** Overlays of single views, and their tabs. The last ones change the fleet. */
export const overlaysOfViews: readonly View[] = [
  { name: 'row-menu', path: devices, as: 'admin', open: openBy(/^Actions for/, 'menu') },
  { name: 'more-filters', path: devices, as: 'admin', open: openBy('More filters', 'menu') },
  { name: 'confirm-many', path: devices, as: 'admin', open: (page) => selectAll(page, 'Revoke') },
  { name: 'batch-result', path: devices, as: 'admin', open: openBatchResult },
  ...tabs.map((tab): View => ({ name: `device-${tab}`, path: `${device}?tab=${tab}`, as: 'admin' })),
  ...ofUsers,
  ...ofGroups,
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
