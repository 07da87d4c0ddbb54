import type { Page } from 'playwright-core'
import { overlaysOfViews } from './overlays-of-views.ts'
import { settle } from './page.ts'
import type { View } from './views.ts'

const press = (key: string) => async (page: Page) => {
  await page.keyboard.press(key)
  await page.getByRole('dialog').waitFor()
}
const click = (name: string | RegExp, then: 'dialog' | 'menu' | 'listbox') => async (page: Page) => {
  await page.getByRole('button', { name }).first().click()
  await page.getByRole(then).first().waitFor()
}
/** Presses a key on the first row of a list. */
const onRow = (key: string, then: 'dialog' | 'alertdialog') => async (page: Page) => {
  await page.locator('[data-row-link]').first().focus()
  await page.keyboard.press(key)
  await page.getByRole(then).waitFor()
}
const list = '/admin/devices'
const stepUp =
  'this change needs a one-time code not older than 5 minutes: send one to POST /v1/admin/auth/step-up, then repeat the request'

/** Opens the step-up dialog, with the response of a tenant that requires a one-time code for the change. */
async function openStepUp(page: Page): Promise<void> {
  const body = { error: 'forbidden', detail: stepUp, request_id: 'req_01k00000000000000000000000' }
  await page.route('**/v1/admin/devices/batch*', (route) => route.fulfill({ status: 403, json: body }))
  for (const nth of [0, 1]) await page.locator('[data-row-link]').nth(nth).press('x')
  await page.getByRole('toolbar').getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('button', { name: 'Revoke 2 devices' }).click()
  await page.getByLabel('Code from your authenticator app').waitFor()
}

/** Moves the clock of the page to the last 2 minutes of the session. The server's clock stays. */
async function openExpiry(page: Page): Promise<void> {
  await page.clock.install()
  await page.reload()
  await settle(page)
  const idleSeconds = await page.evaluate(async () => {
    const answer = await fetch('/v1/admin/me', { headers: { 'holdfast-background': '1' } })
    const { session } = (await answer.json()) as { session: { idle_seconds: number } }
    return session.idle_seconds
  })
  await page.clock.fastForward((idleSeconds - 100) * 1000)
  await page.getByRole('heading', { name: /You are signed out in/ }).waitFor()
}

/** Overlays of views, and other states that need more than a path. */
export const overlays: readonly View[] = [
  {
    name: 'sign-in-other-tenant',
    path: '/admin/login',
    open: (page) => page.getByText('Sign in to another tenant').click(),
  },
  { name: 'palette', path: list, as: 'admin', open: press('Control+k') },
  {
    name: 'palette-found',
    path: list,
    as: 'admin',
    open: async (page) => {
      await press('Control+k')(page)
      await page.keyboard.type('lap')
      await page.getByRole('option', { name: 'Lost device: laptop' }).waitFor()
    },
  },
  { name: 'help', path: list, as: 'admin', open: press('?') },
  { name: 'alerts-drawer', path: list, as: 'admin', open: click(/^Alerts: /, 'dialog') },
  { name: 'account-menu', path: list, as: 'admin', open: click(/account of/, 'menu') },
  {
    name: 'navigation',
    path: list,
    as: 'admin',
    width: 375,
    open: (page) => page.getByRole('button', { name: 'Open navigation' }).click(),
  },
  { name: 'columns-menu', path: list, as: 'admin', open: click('Columns', 'menu') },
  { name: 'facet-list', path: list, as: 'admin', open: click('Status', 'listbox') },
  { name: 'save-view', path: `${list}?platform=linux`, as: 'admin', open: click('Save view', 'dialog') },
  { name: 'device-panel', path: `${list}?open=$device_id`, as: 'admin' },
  { name: 'lost-device', path: list, as: 'admin', open: onRow('l', 'dialog') },
  { name: 'confirm', path: list, as: 'admin', open: onRow('r', 'alertdialog') },
  {
    name: 'device-edit',
    path: `${list}/$device_id`,
    as: 'admin',
    open: async (page) => {
      await click(/^More|^Actions/, 'menu')(page)
      await page.getByRole('menuitem', { name: /^Edit name/ }).click()
      await page.getByRole('dialog').waitFor()
    },
  },
  {
    name: 'devices-selected',
    path: list,
    as: 'admin',
    open: (page) => page.getByLabel('Select all on this page').check(),
  },
  { name: 'step-up', path: list, as: 'admin', open: openStepUp },
  { name: 'session-expiry', path: '/admin/me', as: 'admin', open: openExpiry },
  { name: 'factor-enroll', path: '/admin/me', as: 'viewer', open: click(/^Set up second factor/, 'dialog') },
  ...overlaysOfViews,
]
