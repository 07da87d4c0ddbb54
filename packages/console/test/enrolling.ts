import assert from 'node:assert/strict'
import { before, type TestContext } from 'node:test'
import { createProof, generateKey } from '@holdfast/crypto'
import { createClient } from '@holdfast/sdk'
import type { Page } from 'playwright-core'
import { newWireguardKey } from '../../server/test/support/actors/gateways.ts'
import { passwordOf } from '../../server/test/support/actors/people.ts'
import { type Ground, inBrowser, openGround } from './ground.ts'
import { openPage } from './page.ts'

/** Longest time from `POST /v1/enroll` to the device's name on the sheet. */
export const promptlyMs = 3_000
/** Tenant of this file. It is empty at first. */
export const tenant = 'journey'
export const credentials = { username: `${tenant}/ana`, password: passwordOf('ana') }

/** Creates the tenant and its administrator, once. */
export function prepareTenant(): void {
  if (inBrowser.skip) return
  before(async () => {
    const { kit } = await openGround()
    const made = await kit.newTenant(tenant)
    await kit.app.identity.createUser(made, { username: 'ana', password: passwordOf('ana'), roles: ['tenant_admin'] })
  })
}

/** Opens the sign-in page with access to the clipboard. */
export async function openSignIn(t: TestContext, ground: Ground): Promise<Page> {
  const page = await openPage(t, ground)
  await allowClipboard(page, ground)
  await page.goto('/admin/login')
  // The browser sets the focus with the first frame, which may come after the load.
  await page.locator('#username:focus').waitFor()
  return page
}
export const allowClipboard = (page: Page, { kit }: Ground) =>
  page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: kit.publicUrl })
export const clipboardOf = (page: Page) => page.evaluate(() => navigator.clipboard.readText())
export const secretIn = (text: string): string => /hfe_\w+/.exec(text)?.[0] ?? assert.fail(`no token in: ${text}`)

/** Enrolls a device, as its client does with the line. */
export function enroll({ kit }: Ground, token: string, name: string, platform: 'linux' | 'macos' = 'linux') {
  const { privateJwk } = generateKey('ES256')
  const client = createClient({
    baseUrl: kit.publicUrl,
    dispatcher: kit.dispatcher,
    credential: token,
    prove: (method: string, url: string, accessToken: string) =>
      createProof(privateJwk, { method, url, accessToken, now: new Date() }),
  })
  return client.enroll({ body: { device: { name, platform, wireguard_public_key: newWireguardKey() } } })
}

/** Waits for a text on the sheet, for at most `promptlyMs`. */
export async function promptly(page: Page, text: string): Promise<void> {
  await sheetOf(page).getByText(text).first().waitFor({ timeout: promptlyMs })
}
export const sheetOf = (page: Page) => page.getByRole('dialog', { name: 'Enroll device' })
