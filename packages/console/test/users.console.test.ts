import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import {
  createAuthenticator,
  enrollFactor,
  makeUser,
  passwordOf,
  signInAs,
  trySignIn,
} from '../../server/test/support/actors/people.ts'
import {
  directoryUser,
  userOf as directoryUserOf,
  pushSnapshot,
  snapshotOf,
} from '../../server/test/support/providers/directory-snapshots.ts'
import type { Who } from './fleet.ts'
import { lockOut } from './fleet-devices.ts'
import { assertForgotten } from './forgotten.ts'
import { type Ground, inBrowser, openGround } from './ground.ts'
import { openPage, settle } from './page.ts'

async function openUser(t: TestContext, ground: Ground, as: Who, user_id: string): Promise<Page> {
  const page = await openPage(t, ground, { as })
  await page.goto(`/admin/users/${user_id}`)
  await settle(page)
  return page
}
const userOf = ({ kit }: Ground, user_id: string) => kit.admin.getUser({ params: { user_id } })
/** Failed sign-ins after which the server locks an account. */
const failuresUntilLock = 10
const isOff = (button: Locator) => button.getAttribute('aria-disabled')

test('an auditor sees every action on a user off, with the missing permission', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openUser(t, ground, 'auditor', ground.ids.user_id)
  const suspend = page.getByRole('button', { name: /^Suspend/ })
  assert.equal(await isOff(suspend), 'true')
  await suspend.focus()
  await page.getByText('Needs the permission users:write.').first().waitFor()
  await page.keyboard.press('s')
  assert.equal(await page.locator('dialog[open]').count(), 0, 'its key is off too')
  await page.getByRole('button', { name: /^More actions/ }).click()
  const items = page.getByRole('menuitem').filter({ hasNotText: 'Copy as command' })
  for (const item of await items.all())
    assert.match(await item.innerText(), /Needs the permission [a-z_]+:[a-z]+\./, await item.innerText())
  await page.goto('/admin/users')
  await page.getByRole('checkbox', { name: 'Select all on this page' }).check()
  for (const verb of await page.getByRole('toolbar').locator('.btn').all()) assert.equal(await isOff(verb), 'true')
})

/** Presses the second button of the open question, by keyboard: the focus is on the safe one. */
async function confirmByKey(page: Page): Promise<void> {
  await page.getByRole('alertdialog').getByRole('button', { name: 'Cancel' }).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
}

test(
  'by keyboard alone, the help desk unlocks a user, sets the password and removes a lost factor',
  inBrowser,
  async (t) => {
    const ground = await openGround()
    const { kit } = ground
    const user_id = await makeUser(kit, 'ulla')
    await enrollFactor(kit, 'ulla')
    for (let i = 0; i < failuresUntilLock; i++) await trySignIn(kit, 'ulla', { password: 'a guess' })
    const page = await openPage(t, ground, { as: 'helpdesk' })
    await page.goto('/admin/users?q=ulla')
    await page
      .getByRole('row', { name: /ulla/ })
      .getByText(/^Locked for \d+ min$/)
      .waitFor()

    await page.keyboard.press('j')
    await page.keyboard.press('u')
    await confirmByKey(page)
    await page.getByText('ulla unlocked').waitFor()
    assert.equal((await userOf(ground, user_id)).locked_until, null)
    await page.getByRole('row', { name: /ulla/ }).getByText('Active').waitFor()
    await page.getByRole('link', { name: 'ulla' }).and(page.locator(':focus')).waitFor()

    await page.keyboard.press('p')
    await page.getByRole('radio', { name: 'Generate a temporary password' }).and(page.locator(':focus')).waitFor()
    await page.keyboard.press('Enter')
    const box = page.getByLabel('I have stored the temporary password')
    await box.waitFor()
    const secret = await page.getByRole('group', { name: 'Temporary password' }).locator('code').innerText()
    await box.focus()
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Done' }).focus()
    await page.keyboard.press('Enter')
    await box.waitFor({ state: 'detached' })
    await assertForgotten(page, secret)

    await page.getByRole('button', { name: 'Actions for ulla' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem').first().and(page.locator(':focus')).waitFor()
    await page.keyboard.type('Turn')
    await page.keyboard.press('Enter')
    await confirmByKey(page)
    await page.getByText('Second factor of ulla is off').waitFor()
    assert.equal((await userOf(ground, user_id)).mfa.enabled, false)
    const signedIn = await trySignIn(kit, 'ulla', { password: secret })
    assert.deepEqual([signedIn.status, signedIn.json.required_action], [200, 'change_password'])
  },
)

test('the help desk changes no user with more permissions, and sees why', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openUser(t, ground, 'helpdesk', await makeUser(ground.kit, 'chief', ['tenant_admin']))
  const password = page.getByRole('button', { name: /^Set password/ })
  assert.equal(await isOff(password), 'true')
  await password.hover()
  await page.getByText('The role Tenant admin allows more than you may do.').first().waitFor()
})

test('an administrator suspends a user, whose sign-in ends, and reactivates the account', inBrowser, async (t) => {
  const ground = await openGround()
  const { kit } = ground
  const user_id = await makeUser(kit, 'sven')
  const sven = await signInAs(kit, 'sven')
  const page = await openUser(t, ground, 'admin', user_id)
  await page.getByRole('button', { name: /^Suspend/ }).click()
  const question = page.getByRole('alertdialog', { name: 'Suspend sven?' })
  await question.getByText('1 sign-in ends within seconds').waitFor()
  await question.getByLabel(/^Reason/).fill('on leave')
  await question.getByRole('button', { name: 'Suspend sven' }).click()
  await page.getByText('sven suspended').waitFor()
  await page.getByText('sven is suspended.').waitFor()
  assert.equal((await userOf(ground, user_id)).status, 'suspended')
  assert.equal((await sven.get('/v1/admin/me')).status, 401)
  const { items } = await kit.admin.listAuditEvents({ query: { target_id: user_id, operation: 'suspend' } })
  assert.deepEqual(
    items.map(({ details }) => details?.reason),
    ['on leave'],
  )
  await page.getByRole('button', { name: /^Reactivate/ }).click()
  await page.getByRole('button', { name: 'Reactivate sven' }).click()
  await page.getByText('sven reactivated').waitFor()
  assert.equal((await userOf(ground, user_id)).status, 'active')
  await signInAs(kit, 'sven')
})

test('a change of an older version is refused, and the next press changes the new one', inBrowser, async (t) => {
  const ground = await openGround()
  const { kit } = ground
  const user_id = await makeUser(kit, 'viola')
  const page = await openUser(t, ground, 'admin', user_id)
  await page.keyboard.press('s')
  const question = page.getByRole('alertdialog')
  await question.waitFor()
  await settle(page)
  await kit.admin.changeUser({ body: { operation: 'update', user_id, user: { email: 'viola@corp.example' } } })
  await question.getByRole('button', { name: 'Suspend viola' }).click()
  await question.getByText('Somebody else has changed this user in the meantime.').waitFor()
  assert.equal((await userOf(ground, user_id)).status, 'active')
  await question.getByText('viola@corp.example').waitFor()
  await question.getByRole('button', { name: 'Suspend viola' }).click()
  await page.getByText('viola suspended').waitFor()
})

test('a bulk change names each user that was not changed', inBrowser, async (t) => {
  const ground = await openGround()
  const { kit } = ground
  const ids = [await makeUser(kit, 'many-1'), await makeUser(kit, 'many-2'), await makeUser(kit, 'many-3')]
  await kit.admin.suspendUser({ body: { user_id: ids[1]! } })
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto('/admin/users?q=many-')
  await settle(page)
  await kit.admin.changeUser({ body: { operation: 'delete', user_id: ids[2]! } })
  await page.keyboard.press('j')
  await page.keyboard.press('Control+a')
  await page.getByRole('toolbar').getByRole('button', { name: 'Suspend' }).click()
  await page.getByRole('button', { name: 'Suspend 3 users' }).click()
  const result = page.getByRole('dialog', { name: /: results/ })
  assert.equal(await result.getByRole('status').innerText(), '1 changed, 1 unchanged, 1 failed.')
  assert.match(await result.getByRole('listitem').first().innerText(), /many-3/)
  assert.equal((await userOf(ground, ids[0]!)).status, 'suspended')
  await page.keyboard.press('Escape')
  await settle(page)
  assert.equal(await page.getByRole('toolbar').count(), 0, 'nothing stays selected')
})

test('a user is added with a temporary password, gets a role and a group, and loses the role', inBrowser, async (t) => {
  const ground = await openGround()
  const { kit } = ground
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto('/admin/users')
  await page.getByRole('button', { name: 'Add user' }).click()
  await page.getByLabel('Username').fill('admin')
  await page.getByLabel('Name', { exact: false }).nth(1).fill('Nora Berg')
  await page.keyboard.press('Enter')
  await page.locator('[aria-invalid="true"]').waitFor()
  await page.getByLabel('Username').fill('nora')
  await page.keyboard.press('Enter')
  const secret = await page.getByRole('group', { name: 'Temporary password' }).locator('code').innerText()
  await page.getByLabel('I have stored the temporary password').check()
  await page.getByRole('button', { name: 'Done' }).click()
  const panel = page.getByRole('complementary', { name: 'User Nora Berg' })
  await panel.waitFor()
  await assertForgotten(page, secret)
  const user_id = new URL(page.url()).searchParams.get('open') ?? ''
  assert.equal((await trySignIn(kit, 'nora', { password: secret })).status, 200)

  await panel.getByRole('tab', { name: 'Roles' }).click()
  await panel.getByRole('button', { name: 'Grant role…' }).click()
  await page.getByRole('radio', { name: 'Helpdesk' }).check()
  await page.getByRole('button', { name: 'Grant role', exact: true }).click()
  await page.getByText('Nora Berg is Helpdesk now').waitFor()
  assert.deepEqual((await userOf(ground, user_id)).roles, ['helpdesk'])
  await panel.getByRole('button', { name: 'Revoke… Helpdesk' }).click()
  await page.getByRole('button', { name: 'Revoke role' }).click()
  await page.getByText('Nora Berg is not Helpdesk any more').waitFor()
  assert.deepEqual((await userOf(ground, user_id)).roles, [])

  await panel.getByRole('tab', { name: 'Groups' }).click()
  await panel.getByRole('combobox', { name: 'Add to group' }).fill('fin')
  await page.getByRole('option', { name: 'finance' }).click()
  await page.getByText('Nora Berg added to finance').waitFor()
  assert.deepEqual((await userOf(ground, user_id)).group_names, ['finance'])
  await panel.getByRole('button', { name: 'Remove from finance' }).click()
  await page.getByText('Nora Berg removed from finance').waitFor()
})

test('the fields of a user from a directory are off, with the reason', inBrowser, async (t) => {
  const ground = await openGround()
  const { kit } = ground
  const diego = directoryUser('diego', { userName: 'diego' })
  await pushSnapshot(kit.admin, snapshotOf([diego]))
  const page = await openUser(t, ground, 'admin', (await directoryUserOf(kit, diego))!.user_id)
  await page.getByText('Name and e-mail come from the directory and are changed there.').waitFor()
  assert.equal(await page.getByRole('button', { name: /^Set password/ }).count(), 0)
  await page.keyboard.press('e')
  await page.getByText('The directory owns these fields.').first().waitFor()
  const sheet = page.getByRole('dialog')
  assert.equal(await sheet.getByLabel('Username').isDisabled(), true)
  assert.equal(await isOff(sheet.getByRole('button', { name: 'Save user' })), 'true')
})

test('all sessions of a user end at once, sign-ins too', inBrowser, async (t) => {
  const ground = await openGround()
  const { kit } = ground
  const user_id = await makeUser(kit, 'enzo')
  const browsers = [await signInAs(kit, 'enzo'), await signInAs(kit, 'enzo')]
  const page = await openUser(t, ground, 'admin', user_id)
  await page.getByRole('tab', { name: 'Sessions' }).click()
  await page
    .getByRole('button', { name: /^End session of/ })
    .first()
    .click()
  await page.getByText(/^Session of enzo in .+ ended$/).waitFor()
  await page.getByRole('button', { name: 'End all sessions…' }).click()
  await page.getByText('1 sign-in ends within seconds').waitFor()
  await page.getByRole('button', { name: 'End all sessions of enzo' }).click()
  await page.getByText('The user is not signed in now.').waitFor()
  for (const browser of browsers) assert.equal((await browser.get('/v1/admin/me')).status, 401)
  assert.equal((await userOf(ground, user_id)).status, 'active')
  await signInAs(kit, 'enzo', { password: passwordOf('enzo') })
})

test('what a user reaches: one target with its reason, and all targets of the policy', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openUser(t, ground, 'admin', ground.ids.user_id)
  await page.getByRole('tab', { name: 'Access' }).click()
  await page.getByLabel('Resource or address').fill('git')
  await page.keyboard.press('Enter')
  await page.getByText('Carol Example does not reach git').waitFor()
  await page.getByRole('button', { name: 'Check all resources' }).click()
  await page
    .getByRole('tabpanel')
    .getByText(/^1 of 2 can be reached, by stable v\d+\.$/)
    .waitFor()
  assert.match(await page.getByRole('row', { name: /wiki/ }).innerText(), /reached\s+wiki/)
})

test('the palette unlocks a user by name, after the question', inBrowser, async (t) => {
  const ground = await openGround()
  const { kit } = ground
  const user_id = await makeUser(kit, 'quirin')
  await lockOut(kit, user_id)
  const page = await openPage(t, ground, { as: 'helpdesk' })
  await page.goto('/admin/devices')
  await settle(page)
  await page.keyboard.press('Control+k')
  await page.keyboard.type('quirin')
  await page.getByRole('option', { name: /^Unlock: quirin/ }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('alertdialog', { name: 'Unlock quirin?' }).waitFor()
  await confirmByKey(page)
  await page.getByText('quirin unlocked').waitFor()
  assert.equal((await userOf(ground, user_id)).locked_until, null)
  await page.keyboard.press('g')
  await page.keyboard.press('u')
  await page.getByRole('heading', { name: 'Users' }).waitFor()
})

test(
  'a second factor is set up together with the user: QR code, code, recovery codes shown once',
  inBrowser,
  async (t) => {
    const ground = await openGround()
    const user_id = await makeUser(ground.kit, 'tilda')
    const page = await openUser(t, ground, 'helpdesk', user_id)
    await page.getByRole('tab', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Set up second factor…' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
    const seed = await page.getByRole('group', { name: 'Key' }).locator('code').innerText()
    const app = createAuthenticator(seed)
    await page.getByLabel('Code from the app').fill(app.wrong())
    await page.keyboard.press('Enter')
    await page.getByText('The code is not the current code').waitFor()
    await page.getByLabel('Code from the app').fill(app.code())
    await page.keyboard.press('Enter')
    const codes = await page.getByRole('group', { name: 'Set of recovery codes' }).locator('code').innerText()
    await page.getByLabel('I have stored the set of recovery codes').check()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText('Second factor of tilda is on').waitFor()
    await page.getByRole('tabpanel').getByText('Authenticator app').waitFor()
    assert.equal((await userOf(ground, user_id)).mfa.enabled, true)
    for (const secret of [seed, codes.split('\n')[0]!]) await assertForgotten(page, secret)
  },
)

test(
  'the playbook for a compromised user runs until all gateways confirm, and the page shows the lock',
  inBrowser,
  async (t) => {
    const ground = await openGround()
    const { kit } = ground
    const { items: found } = await kit.admin.listUsers({ query: { q: 'yusuf' } })
    const { user_id } = found[0]!
    const page = await openUser(t, ground, 'admin', user_id)
    await page.getByRole('button', { name: /^More actions/ }).click()
    await page.getByRole('menuitem', { name: /^Compromised user/ }).click()
    await page.getByLabel('Reason').fill('password on a false page')
    await page.getByRole('button', { name: 'Lock Yusuf Example' }).click()
    await page.getByRole('dialog', { name: 'Yusuf Example is locked' }).waitFor()
    await page.getByText('All reachable gateways confirmed.').waitFor()
    await page.getByRole('button', { name: 'Close', exact: true }).last().click()
    await page.getByText(/^Yusuf Example is locked by /).waitFor()
    await page.getByText('Reason: password on a false page.').waitFor()
    const { items } = await kit.admin.listDevices({ query: { user_id } })
    assert.deepEqual([...new Set(items.map((device) => device.effective_status))], ['locked'])
  },
)

test('a deleted user leaves the list, and the page of the user says so', inBrowser, async (t) => {
  const ground = await openGround()
  const user_id = await makeUser(ground.kit, 'lothar')
  const page = await openUser(t, ground, 'admin', user_id)
  await page.getByRole('button', { name: /^More actions/ }).click()
  await page.getByRole('menuitem', { name: /^Delete/ }).click()
  await page.getByRole('button', { name: 'Delete lothar' }).click()
  await page.getByText('lothar deleted').waitFor()
  await page.getByText('This user was not found').waitFor()
  await page.getByRole('link', { name: 'All users' }).click()
  await settle(page)
  assert.equal(await page.getByRole('row', { name: /lothar/ }).count(), 0)
})
