import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { makeUser, passwordOf } from '../../server/test/support/actors/people.ts'
import type { Who } from './fleet.ts'
import { type Ground, inBrowser, openGround } from './ground.ts'
import { fillSignIn, openPage, settle } from './page.ts'

const isOff = (button: Locator) => button.getAttribute('aria-disabled')
const rolesOf = async ({ kit }: Ground, user_id: string) =>
  (await kit.admin.getUser({ params: { user_id } })).roles.toSorted()

async function openRoles(t: TestContext, ground: Ground, as: Who, search = ''): Promise<Page> {
  const page = await openPage(t, ground, { as })
  await page.goto(`/admin/roles${search}`)
  await settle(page)
  return page
}

/** Signs in a person of the test. */
async function openAs(t: TestContext, ground: Ground, username: string): Promise<Page> {
  const page = await openPage(t, ground)
  await page.goto('/admin/login?next=/admin/roles%3Ftab%3Dgrants')
  await fillSignIn(page, { username, password: passwordOf(username.split('/').at(-1)!) })
  await page.keyboard.press('Enter')
  await page.waitForURL((url) => url.pathname === '/admin/roles')
  await settle(page)
  return page
}

test('the matrix shows for each role what it may do', inBrowser, async (t) => {
  const page = await openRoles(t, await openGround(), 'auditor')
  const matrix = page.getByRole('region', { name: 'Matrix of roles and permissions' })
  const heads = await matrix.getByRole('columnheader').allInnerTexts()
  const cellOf = async (area: string, role: string) =>
    (
      await matrix
        .getByRole('row', { name: new RegExp(`^${area}`) })
        .getByRole('cell')
        .allInnerTexts()
    )[heads.indexOf(role) - 1]
  assert.equal(await cellOf('Policy', 'Security admin'), 'read, write, publish')
  assert.equal(await cellOf('Policy', 'Viewer'), 'read')
  assert.equal(await cellOf('API keys', 'Operator'), '–')
})

test('a role is granted to a chosen person, seen in the grants, and revoked', inBrowser, async (t) => {
  const ground = await openGround()
  const user_id = await makeUser(ground.kit, 'nora')
  const page = await openRoles(t, ground, 'admin', '?tab=grants')
  await page.getByRole('button', { name: 'Grant role' }).click()
  const sheet = page.getByRole('dialog', { name: 'Grant a role' })
  await sheet.getByRole('combobox', { name: 'User' }).fill('nora')
  await page.getByRole('option', { name: 'nora' }).click()
  await sheet.getByRole('radio', { name: 'Auditor' }).check()
  await sheet.getByRole('button', { name: 'Grant role' }).click()
  await page.getByText('nora is Auditor now').waitFor()
  assert.deepEqual(await rolesOf(ground, user_id), ['auditor'])
  const row = page.getByRole('row', { name: /^nora/ })
  assert.match(await row.innerText(), /nora\s+Auditor[\s\S]+admin/, 'who granted it')
  await row.getByRole('button', { name: 'Revoke… Auditor from nora' }).click()
  await page.getByRole('button', { name: 'Revoke role' }).click()
  await page.getByText('nora is not Auditor any more').waitFor()
  await row.waitFor({ state: 'detached' })
  assert.deepEqual(await rolesOf(ground, user_id), [])
})

test('the last administrator of a tenant keeps the role', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openAs(t, ground, 'empty/newcomer')
  await page.getByRole('button', { name: /^Revoke… Tenant admin from newcomer/ }).click()
  const question = page.getByRole('alertdialog')
  await question.getByText('This is your own account').waitFor()
  await question.getByRole('button', { name: 'Revoke role' }).click()
  await question.getByRole('alert').getByText(/last/).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('row', { name: /^newcomer/ }).waitFor()
})

test('roles with more permissions than the own ones are off, with the reason', inBrowser, async (t) => {
  const ground = await openGround()
  await makeUser(ground.kit, 'tara', ['tenant_admin'])
  const page = await openAs(t, ground, 'tara')
  const revoke = page.getByRole('button', { name: /^Revoke… Platform admin from/ }).first()
  assert.equal(await isOff(revoke), 'true')
  await revoke.focus()
  await page.getByText('This role allows more than you may do.').first().waitFor()
  await page.getByRole('button', { name: 'Grant role' }).click()
  // The open list of users hides the rest of the sheet from assistive technology.
  await page.getByRole('option', { name: 'carol' }).click()
  assert.equal(await page.getByRole('radio', { name: 'Platform admin' }).isDisabled(), true)
})

test('an auditor sees grants and revocations off, with the missing permission', inBrowser, async (t) => {
  const page = await openRoles(t, await openGround(), 'auditor', '?tab=grants')
  for (const button of [
    page.getByRole('button', { name: 'Grant role' }),
    page.getByRole('button', { name: /^Revoke/ }).first(),
  ]) {
    assert.equal(await isOff(button), 'true')
    await button.focus()
    await page.getByText('Needs the permission rbac:write.').filter({ visible: true }).first().waitFor()
  }
})

test(
  'a permission leads to the roles, people and keys that have it, a person to what they can do',
  inBrowser,
  async (t) => {
    const ground = await openGround()
    await makeUser(ground.kit, 'otto', ['helpdesk', 'operator'])
    const page = await openRoles(t, ground, 'auditor', '?tab=who')
    await page.getByLabel('Permission').selectOption('devices:suspend')
    const people = page.getByRole('region', { name: 'People' })
    assert.match(
      await people.getByRole('row', { name: /^otto/ }).innerText(),
      /Helpdesk[\s\S]*Operator|Operator[\s\S]*Helpdesk/,
    )
    assert.equal(await people.getByRole('row', { name: /^auditor/ }).count(), 0)
    await page.getByRole('region', { name: 'Roles' }).getByRole('row', { name: 'Security admin' }).waitFor()
    await page.getByRole('region', { name: 'API keys' }).getByRole('row').nth(1).waitFor()

    await people.getByRole('link', { name: 'otto' }).click()
    const rights = page.getByRole('region', { name: 'What otto can do' })
    assert.match(
      await rights.getByRole('row', { name: /^Devices/ }).innerText(),
      /read, write, suspend\s+Operator, Helpdesk/,
    )
    assert.equal(await rights.getByRole('row', { name: /^API keys/ }).count(), 0)
    await page
      .getByRole('region', { name: 'Admin roles' })
      .getByRole('row', { name: /^Operator/ })
      .waitFor()
  },
)
