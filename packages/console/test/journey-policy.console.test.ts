import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { enroll } from '../../server/test/support/actors/devices.ts'
import { makeGateway, meteringReport, newVpnSessionId } from '../../server/test/support/actors/gateways.ts'
import { runJob, times } from '../../server/test/support/deployment/deployment.ts'
import { type Ground, inBrowser, openGround } from './ground.ts'
import { openPage, settle } from './page.ts'

const longMs = 120_000

/** Ends the canary of earlier tests, so that each journey begins with stable alone. */
async function endCanary({ kit }: Ground): Promise<void> {
  const { items } = await kit.admin.listPolicyBundles({ query: { channel: 'canary', limit: 1 } })
  if (!items[0]?.current) return
  await kit.admin.publishPolicy({ body: { channel: 'stable', from: { channel: 'stable' }, supersede: true } })
}

/** Deletes the drafts of the administrator, so that the editor begins with stable. */
async function deleteDrafts({ kit }: Ground): Promise<void> {
  for (;;) {
    const { items } = await kit.admin.listPolicyDrafts({ query: { limit: 100 } })
    if (items.length === 0) return
    for (const { draft_id } of items) await kit.admin.deletePolicyDraft({ params: { draft_id } })
  }
}

const currentOf = async ({ kit }: Ground, channel: 'canary' | 'stable') =>
  (await kit.admin.listPolicyBundles({ query: { channel, limit: 1 } })).items[0]!

/** Waits until the server has stored and checked what the page shows. */
const waitForSaved = (page: Page) => page.getByText(/· saved \d\d:/).waitFor()

test('a change goes from a draft to the canary and to stable in seven clicks', inBrowser, async (t) => {
  const ground = await openGround()
  await deleteDrafts(ground)
  await endCanary(ground)
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto('/admin')
  await settle(page)
  let clicks = 0
  const click = async (name: string | RegExp, role: 'button' | 'link' = 'button') => {
    await page.getByRole(role, { name }).last().click()
    clicks++
  }
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Policy' }).click()
  clicks++
  await page.getByRole('heading', { name: 'Channels' }).waitFor()
  await click('Edit draft', 'link')
  await page.getByLabel('Policy as JSON').waitFor()
  await page.getByRole('textbox', { name: 'Policy as JSON' }).fill(await changedText(ground, 'first journey'))
  await waitForSaved(page)
  await click('Review…')
  await page.getByText('first journey').first().waitFor()
  await page.getByLabel('Gate', { exact: true }).selectOption('none')
  await page.getByLabel('Note').fill('First journey')
  await click('Publish to canary')
  await page.getByRole('heading', { name: 'Channels' }).waitFor()
  const canary = await currentOf(ground, 'canary')
  assert.deepEqual([canary.note, canary.current, canary.rollout.percent], ['First journey', true, 10])
  await click('What-if', 'link')
  await page.getByRole('heading', { name: 'What-if' }).waitFor()
  await page.goBack()
  await click('Promote to stable')
  await page.getByRole('alertdialog').waitFor()
  await click('Promote to stable')
  await page.getByText(/^Promoted as v/).waitFor()
  assert.equal((await currentOf(ground, 'stable')).digest, canary.digest)
  assert.equal((await ground.kit.admin.listPolicyDrafts({ query: {} })).items.length, 0, 'the draft is gone')
  assert.ok(clicks <= 7, `${clicks} clicks`)
})

/** The document of stable with another description of its first rule. */
async function changedText({ kit }: Ground, description: string): Promise<string> {
  const { bundle_id } = await currentOf({ kit } as Ground, 'stable')
  const { policy } = await kit.admin.getPolicyBundle({ params: { bundle_id } })
  const [rule, ...rules] = (policy as { rules: object[] }).rules
  return JSON.stringify({ ...policy, rules: [{ ...rule, description }, ...rules] }, null, 2)
}

test('the same by keyboard only', { ...inBrowser, timeout: longMs }, async (t) => {
  const ground = await openGround()
  await deleteDrafts(ground)
  await endCanary(ground)
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto('/admin/devices')
  await settle(page)
  const { keyboard } = page
  const press = async (name: string | RegExp, role: 'button' | 'link' | 'radio' = 'button') => {
    await tabTo(page, name, role)
    await keyboard.press('Enter')
  }
  await keyboard.press('g')
  await keyboard.press('p')
  await page.getByRole('heading', { name: 'Channels' }).waitFor()
  await settle(page)
  await press('Edit draft', 'link')
  await page.getByLabel('Policy as JSON').waitFor()
  await settle(page)
  await press(/^Edit rule wiki/)
  await page.getByRole('dialog').waitFor()
  await tabTo(page, 'Description optional', 'textbox')
  await keyboard.type('By keyboard')
  await press('Apply')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await waitForSaved(page)
  await page.waitForFunction(() => document.querySelector('.problems')?.textContent?.includes('No problem'))
  await press('Review…')
  await page.getByText('By keyboard').first().waitFor()
  await settle(page)
  await tabTo(page, 'Gate', 'combobox')
  await keyboard.press('End')
  await tabTo(page, 'Note', 'textbox')
  await keyboard.type('By keyboard')
  await press('Publish to canary')
  await page.getByRole('heading', { name: 'Channels' }).waitFor()
  await settle(page)
  await press('Promote to stable')
  await page.getByRole('alertdialog').waitFor()
  await press('Promote to stable')
  await page.getByText(/^Promoted as v/).waitFor()
  assert.equal((await currentOf(ground, 'stable')).rollout.percent, 0)
})

type Role = 'button' | 'link' | 'radio' | 'textbox' | 'combobox'
/** Presses Tab until the focus is on an element with this role and name. */
async function tabTo(page: Page, name: string | RegExp, role: Role): Promise<void> {
  const wanted = page.getByRole(role, { name, ...(typeof name === 'string' && { exact: true }) })
  for (let i = 0; i < 200; i++) {
    for (const one of await wanted.all())
      if (await one.evaluate((element) => element === document.activeElement)) return
    // The editor keeps Tab for an open list only, so the focus goes on.
    await page.keyboard.press('Tab')
  }
  assert.fail(`Tab never reaches the ${role} ${name}`)
}

test('a canary that breaks sessions goes back by itself, and the page says why', inBrowser, async (t) => {
  const ground = await openGround()
  const { kit } = ground
  await endCanary(ground)
  const { client } = await makeGateway(kit, 'gate')
  const devices = await times(16, (i) => enroll(kit, `gate-${i}`))
  const [onCanary, others] = [devices.slice(0, 8), devices.slice(8)]
  const { bundle_id } = await currentOf(ground, 'stable')
  const { policy } = await kit.admin.getPolicyBundle({ params: { bundle_id } })
  const rules = [{ id: 'elsewhere', action: 'allow', from: { any: true }, to: ['10.77.0.0/16'] }]
  await kit.admin.publishPolicy({
    body: {
      channel: 'canary',
      policy: { ...policy, rules, tests: [] },
      rollout: { device_ids: onCanary.map(({ id }) => id) },
      gate: { min_devices: 8, on_failure: 'rollback' },
      note: 'Breaks everything',
    },
  })
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto('/admin/policy')
  await page.getByText(/^Watching/).waitFor()
  const report = (denied_packets: number) => (device: (typeof devices)[number]) => ({
    ...{ session_id: newVpnSessionId(), device_id: device.id, state: 'active' as const },
    ...{ rx_bytes: 10, tx_bytes: 10, denied_packets },
  })
  await client.metering({ body: meteringReport([...onCanary.map(report(5)), ...others.map(report(0))]) })
  await runJob(kit.app, 'judge_canaries')
  await page.getByText('No canary is active', { exact: false }).waitFor()
  await page.getByText('Rolled back').first().waitFor()
  await page
    .getByText(/^8 of 8 devices on canary have packets denied/)
    .first()
    .waitFor()
})

test('a broken draft is kept, names its problem, and is mended by its suggestion', inBrowser, async (t) => {
  const ground = await openGround()
  await deleteDrafts(ground)
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto('/admin/policy/edit?from=stable')
  const editor = page.getByRole('textbox', { name: 'Policy as JSON' })
  await editor.waitFor()
  const text = await changedText(ground, 'broken')
  await editor.fill(text.replace('"wiki"\n      ]', '"wikki"\n      ]'))
  const problems = page.getByRole('region', { name: 'Problems' })
  await problems.getByText('unknown resource or host "wikki"').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Review…' }).getAttribute('aria-disabled'), 'true')
  await problems.getByRole('button', { name: 'Use wiki' }).click()
  await problems.getByText('No problem').waitFor()
  await editor.fill('{ "rules": [')
  await problems
    .getByText(/Not valid JSON/)
    .first()
    .waitFor()
  await waitForSaved(page)
  await page.reload()
  await editor.waitFor()
  assert.match(await editor.innerText(), /\{ "rules": \[/)
})

test('letters typed into the JSON are text, and no shortcuts of the page', inBrowser, async (t) => {
  const ground = await openGround()
  await deleteDrafts(ground)
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto('/admin/policy/edit?from=stable')
  const editor = page.getByRole('textbox', { name: 'Policy as JSON' })
  await editor.fill('')
  await editor.pressSequentially('{ "ge gd ?/ jkx": 1 }')
  await page.keyboard.press('Escape')
  assert.match(await editor.innerText(), /ge gd \?\/ jkx/)
  assert.equal(new URL(page.url()).pathname, '/admin/policy/edit')
  assert.equal(await page.getByRole('dialog').count(), 0)
})

test('an answer is pinned as a test of the draft', inBrowser, async (t) => {
  const ground = await openGround()
  await deleteDrafts(ground)
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto(`/admin/policy/what-if?device_id=${ground.ids.device_id}&target=wiki`)
  await page.getByRole('button', { name: 'Pin as a test' }).click()
  await page.getByText(/^Test added to Change of v/).waitFor()
  const { items } = await ground.kit.admin.listPolicyDrafts({ query: {} })
  const { text } = await ground.kit.admin.getPolicyDraft({ params: { draft_id: items[0]!.draft_id } })
  const { tests } = JSON.parse(text) as { tests: { from: { device: string } }[] }
  assert.equal(tests.at(-1)!.from.device, ground.ids.device_id)
})

test('two editors of one draft: neither text is lost without a decision', inBrowser, async (t) => {
  const ground = await openGround()
  await deleteDrafts(ground)
  const { draft_id } = await ground.kit.admin.createPolicyDraft({
    body: {
      name: 'Shared',
      text: await changedText(ground, 'start'),
      base: { bundle_id: (await currentOf(ground, 'stable')).bundle_id },
    },
  })
  const address = `/admin/policy/edit?draft=${draft_id}`
  const [first, second] = [await openPage(t, ground, { as: 'admin' }), await openPage(t, ground, { as: 'admin' })]
  for (const page of [first, second]) {
    await page.goto(address)
    await page.getByRole('textbox', { name: 'Policy as JSON' }).waitFor()
  }
  const write = async (page: Page, text: string) => {
    const editor = page.getByRole('textbox', { name: 'Policy as JSON' })
    await editor.fill((await changedText(ground, text)) as string)
  }
  const stored = async () => (await ground.kit.admin.getPolicyDraft({ params: { draft_id } })).text
  await write(first, 'theirs')
  await waitForSaved(first)
  await write(second, 'mine')
  await second.getByText(/has saved this draft meanwhile/).waitFor()
  assert.match(await stored(), /theirs/)
  await second.getByRole('button', { name: 'Overwrite with mine' }).click()
  await second.getByText(/has saved this draft meanwhile/).waitFor({ state: 'detached' })
  assert.match(await stored(), /mine/)
  await write(first, 'third')
  await first.getByRole('button', { name: 'Take their text' }).click()
  await first.getByText(/has saved this draft meanwhile/).waitFor({ state: 'detached' })
  await first.getByRole('textbox', { name: 'Policy as JSON' }).filter({ hasText: 'mine' }).waitFor()
})

test('a draft whose base moved is merged by rule, and shows what both sides changed', inBrowser, async (t) => {
  const ground = await openGround()
  await deleteDrafts(ground)
  await endCanary(ground)
  const base = await currentOf(ground, 'stable')
  const { draft_id } = await ground.kit.admin.createPolicyDraft({
    body: { name: 'Old base', text: await changedText(ground, 'of the draft'), base: { bundle_id: base.bundle_id } },
  })
  const published = JSON.parse(await changedText(ground, 'of stable')) as { rules: object[]; hosts?: object }
  const policy = { ...published, hosts: { scanner: '10.9.0.1' } }
  await ground.kit.admin.publishPolicy({ body: { channel: 'stable', policy, supersede: true } })
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto(`/admin/policy/edit?draft=${draft_id}`)
  await page.getByRole('button', { name: /^Merge v/ }).click()
  await page.getByText('1 entry was changed on both sides', { exact: false }).waitFor()
  await page.getByText('of stable', { exact: false }).first().waitFor()
  await page.getByRole('button', { name: 'Merge with my side' }).click()
  await page.getByRole('button', { name: 'Merge with my side' }).waitFor({ state: 'detached' })
  const { text, base: moved } = await ground.kit.admin.getPolicyDraft({ params: { draft_id } })
  assert.match(text, /of the draft/)
  assert.match(text, /scanner/)
  assert.notEqual(moved!.bundle_id, base.bundle_id)
})

test('a reader sees everything, and each change is off with its permission', inBrowser, async (t) => {
  const ground = await openGround()
  const { draft_id } = await ground.kit.admin.createPolicyDraft({
    body: { name: 'To read', text: await changedText(ground, 'read me'), base: null },
  })
  const page = await openPage(t, ground, { as: 'viewer' })
  await page.goto(`/admin/policy/edit?draft=${draft_id}`)
  await page.getByText('You can read this draft, and not change it.').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Add rule' }).getAttribute('aria-disabled'), 'true')
  await page.getByRole('button', { name: 'Review…' }).click()
  await page.getByText('read me').first().waitFor()
  const publish = page.getByRole('button', { name: /^Publish to/ })
  assert.equal(await publish.getAttribute('aria-disabled'), 'true')
  await page.getByText('Needs the permission policy:publish.').first().waitFor()
  await page.goto('/admin/policy')
  const rollBack = page.getByRole('button', { name: /^Roll back to/ })
  await rollBack.waitFor()
  assert.equal(await rollBack.getAttribute('aria-disabled'), 'true')
})
