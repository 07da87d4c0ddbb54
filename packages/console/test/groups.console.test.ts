import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { makeUser } from '../../server/test/support/actors/people.ts'
import {
  directoryGroup,
  directoryUser,
  pushSnapshot,
  snapshotOf,
} from '../../server/test/support/providers/directory-snapshots.ts'
import type { Who } from './fleet.ts'
import { type Ground, inBrowser, openGround } from './ground.ts'
import { openPage, settle } from './page.ts'

const isOff = (button: Locator) => button.getAttribute('aria-disabled')
const groupOf = ({ kit }: Ground, group_id: string) => kit.admin.getGroup({ params: { group_id } })

async function makeGroup({ kit }: Ground, name: string, members: string[] = []): Promise<string> {
  const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name, members } } })
  return group.group_id
}
async function openAt(t: TestContext, ground: Ground, as: Who, path: string): Promise<Page> {
  const page = await openPage(t, ground, { as })
  await page.goto(path)
  await settle(page)
  return page
}
const membersOf = async ({ kit }: Ground, group_id: string) =>
  (await kit.admin.listUsers({ query: { group_id } })).items.map(({ username }) => username)

test('a group is created with a member, gets another one, and loses one', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openAt(t, ground, 'admin', '/admin/groups')
  await page.getByRole('button', { name: 'Create group' }).click()
  const sheet = page.getByRole('dialog', { name: 'Create group' })
  await sheet.getByLabel('Name', { exact: true }).fill('sales')
  await page.keyboard.press('Enter')
  await sheet.locator('[aria-invalid="true"]').and(page.locator(':focus')).waitFor()
  await sheet.getByLabel('Name', { exact: true }).fill('Night shift')
  await sheet.getByRole('combobox', { name: 'Members' }).fill('carol')
  await page.getByRole('option', { name: 'carol' }).click()
  await sheet.getByRole('button', { name: 'Create group' }).click()
  const panel = page.getByRole('complementary', { name: 'Group Night shift' })
  await panel.getByRole('link', { name: 'Carol Example' }).waitFor()
  const group_id = new URL(page.url()).searchParams.get('open') ?? ''

  await panel.getByRole('button', { name: /^Add members/ }).click()
  for (const name of ['dave', 'erin']) {
    await page.getByRole('combobox', { name: 'Members' }).fill(name)
    await page.getByRole('option', { name }).click()
  }
  await page.getByRole('button', { name: 'Add 2 members' }).click()
  await page.getByText('2 users added to Night shift').waitFor()
  await panel.getByRole('link', { name: 'Erin Example' }).waitFor()
  assert.deepEqual(await membersOf(ground, group_id), ['carol', 'dave', 'erin'])
  await page.getByRole('row', { name: /Night shift.* 3 / }).waitFor()

  await panel.getByLabel('Filter members').fill('da')
  await panel.getByRole('link', { name: 'Erin Example' }).waitFor({ state: 'detached' })
  await panel.getByRole('button', { name: 'Remove Dave Example' }).click()
  await page.getByText('Dave Example removed from Night shift').waitFor()
  await panel.getByText('No member matches “da”.').waitFor()
  assert.deepEqual(await membersOf(ground, group_id), ['carol', 'erin'])
})

test('a group in a published rule is not deleted, and the question names the rules', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openAt(t, ground, 'admin', `/admin/groups/${ground.ids.group_id}?tab=uses`)
  await page.getByRole('listitem').filter({ hasText: 'Rule git' }).filter({ hasText: 'stable v1' }).waitFor()
  await page.getByRole('button', { name: /^More actions/ }).click()
  await page.getByRole('menuitem', { name: /^Delete/ }).click()
  const question = page.getByRole('alertdialog', { name: 'Delete engineering for good?' })
  await question.getByText('Rule git (stable v1)').waitFor()
  await question.getByText('Rule git (canary v2)').waitFor()
  assert.equal(await isOff(question.getByRole('button', { name: 'Delete group' })), 'true')
})

test('a rule with an earlier name of the group is named by the refusal of the server', inBrowser, async (t) => {
  const ground = await openGround()
  const { kit, ids } = ground
  const rename = (name: string) =>
    kit.admin.changeGroup({ body: { operation: 'update', group_id: ids.group_id!, group: { name } } })
  await rename('builders')
  t.after(() => rename('engineering'))
  const page = await openAt(t, ground, 'admin', `/admin/groups/${ids.group_id}`)
  await page.getByRole('button', { name: /^More actions/ }).click()
  await page.getByRole('menuitem', { name: /^Delete/ }).click()
  await page.getByRole('button', { name: 'Delete group' }).click()
  await page.getByRole('alert').getByText('The published policy uses this group in git').waitFor()
  assert.equal((await groupOf(ground, ids.group_id!)).name, 'builders')
})

test('a group that another administrator renamed meanwhile is not overwritten unseen', inBrowser, async (t) => {
  const ground = await openGround()
  const group_id = await makeGroup(ground, 'reviewers')
  const page = await openAt(t, ground, 'admin', `/admin/groups/${group_id}`)
  await page.keyboard.press('e')
  const name = page.getByRole('dialog').getByLabel('Name', { exact: true })
  await name.fill('judges')
  await ground.kit.admin.changeGroup({ body: { operation: 'update', group_id, group: { name: 'examiners' } } })
  await page.keyboard.press('Enter')
  await page.getByText('Somebody else has changed this group in the meantime.').waitFor()
  await page.getByText('examiners').first().waitFor()
  assert.equal((await groupOf(ground, group_id)).name, 'examiners')
  await page.getByRole('button', { name: 'Overwrite with my changes' }).click()
  await page.getByRole('heading', { level: 1, name: 'judges' }).waitFor()
  assert.equal((await groupOf(ground, group_id)).name, 'judges')
})

test('by keyboard alone, a group gets a member, and is deleted', inBrowser, async (t) => {
  const ground = await openGround()
  const group_id = await makeGroup(ground, 'zebra')
  const page = await openAt(t, ground, 'admin', '/admin/groups?q=zebra')
  await page.keyboard.press('j')
  await page.keyboard.press('a')
  await page.getByRole('combobox', { name: 'Members' }).and(page.locator(':focus')).waitFor()
  await page.keyboard.type('heidi')
  await page.getByRole('option', { name: 'heidi' }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.getByRole('list', { name: 'Chosen members' }).getByText('heidi').waitFor()
  await page.getByRole('button', { name: 'Add member' }).last().focus()
  await page.keyboard.press('Enter')
  await page.getByText('heidi added to zebra').waitFor()
  assert.deepEqual(await membersOf(ground, group_id), ['heidi'])
  await page.getByRole('link', { name: 'zebra' }).and(page.locator(':focus')).waitFor()

  await page.getByRole('button', { name: 'Actions for zebra' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('menuitem').first().and(page.locator(':focus')).waitFor()
  await page.keyboard.type('Del')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Keep group' }).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.getByText('zebra deleted').waitFor()
  await page.getByText('No groups match').waitFor()
})

test('a group with many members is deleted only after its name is typed', inBrowser, async (t) => {
  const ground = await openGround()
  const members = await Promise.all(Array.from({ length: 26 }, (_, i) => makeUser(ground.kit, `crew-${i}`)))
  const group_id = await makeGroup(ground, 'crew', members)
  const page = await openAt(t, ground, 'admin', `/admin/groups/${group_id}`)
  await page.getByRole('button', { name: /^More actions/ }).click()
  await page.getByRole('menuitem', { name: /^Delete/ }).click()
  const deed = page.getByRole('button', { name: 'Delete group' })
  assert.equal(await isOff(deed), 'true')
  await page.getByLabel('Type crew to confirm').fill('crew')
  await deed.click()
  await page.getByRole('heading', { level: 1, name: 'Groups' }).waitFor()
  const { items } = await ground.kit.admin.listUsers({ query: { q: 'crew-' } })
  assert.equal(items.length, 26, 'the users stay')
})

test('a viewer sees each change of a group off, with the missing permission', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openAt(t, ground, 'viewer', `/admin/groups/${ground.ids.group_id}`)
  for (const name of [/^Add members/, /^Rename/, /^Remove Frank Example/]) {
    const button = page.getByRole('button', { name })
    assert.equal(await isOff(button), 'true')
    await button.focus()
    await page.getByText('Needs the permission groups:write.').filter({ visible: true }).first().waitFor()
  }
  for (const key of ['a', 'e']) await page.keyboard.press(key)
  assert.equal(await page.locator('dialog[open]').count(), 0, 'the keys are off too')
  await page.goto('/admin/groups')
  await settle(page)
  assert.equal(await isOff(page.getByRole('button', { name: 'Create group' })), 'true')
})

test('a group of a directory is locked, with the reason', inBrowser, async (t) => {
  const ground = await openGround()
  const diego = directoryUser('diego', { userName: 'diego' })
  await pushSnapshot(ground.kit.admin, snapshotOf([diego], [directoryGroup('from-ldap', [diego])]))
  const page = await openAt(t, ground, 'admin', '/admin/groups?q=from-ldap')
  await page
    .getByRole('row', { name: /from-ldap.*Directory/ })
    .getByRole('link')
    .click()
  const panel = page.getByRole('complementary', { name: 'Group from-ldap' })
  await panel.getByText('A directory decides on this group.').waitFor()
  await panel.getByRole('link', { name: 'Person diego' }).waitFor()
  for (const name of [/^Add members/, /^Rename/, /^Remove/])
    assert.equal(await isOff(panel.getByRole('button', { name })), 'true')
  await panel.getByRole('button', { name: /^More actions/ }).click()
  await page.getByRole('menuitem', { name: /^Delete.*Change it there\./s }).waitFor()
})

test('the palette opens a group by its name, and creates one', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openAt(t, ground, 'admin', '/admin/me')
  await page.keyboard.press('Control+k')
  await page.keyboard.type('finance')
  await page.getByRole('option', { name: /^finance/ }).click()
  await page.getByRole('heading', { level: 1, name: 'finance' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.keyboard.type('create group')
  await page.getByRole('option', { name: 'Create group' }).waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Create group' }).waitFor()
  assert.equal(new URL(page.url()).pathname, '/admin/groups')
})

test('the members of a group are downloaded as CSV', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openAt(t, ground, 'viewer', `/admin/groups/${ground.ids.group_id}`)
  const download = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Download as CSV' }).click()
  const stream = await (await download).createReadStream()
  const lines = (await Array.fromAsync(stream)).join('').split('\r\n')
  assert.match(lines[0]!, /username/)
  assert.equal(lines.length - 1, (await groupOf(ground, ground.ids.group_id!)).member_count)
})
