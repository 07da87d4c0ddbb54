import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { Who } from './fleet.ts'
import { type Ground, inBrowser, openGround } from './ground.ts'
import { openPage } from './page.ts'

/** Failures that a test causes on purpose. */
const failures = /^(console: Failed to load resource|500 for )/
const options = { ...inBrowser, timeout: 120_000 }
const boom = { status: 500, body: '{"error":"internal_error","detail":"the disk is full"}' }
const draftPath = '**/v1/admin/policy-drafts/*'

async function documentOf({ kit }: Ground, description: string) {
  const { items } = await kit.admin.listPolicyBundles({ query: { channel: 'stable', limit: 1 } })
  const { bundle_id } = items[0]!
  const { policy } = await kit.admin.getPolicyBundle({ params: { bundle_id } })
  const [rule, ...rules] = (policy as { rules: object[] }).rules
  return { bundle_id, policy: { ...policy, rules: [{ ...rule, description }, ...rules] } }
}
const textOf = async (ground: Ground, description: string): Promise<string> =>
  JSON.stringify((await documentOf(ground, description)).policy, null, 2)

const editorOf = (page: Page) => page.getByRole('textbox', { name: 'Policy as JSON' })

/** Stores a draft, and opens it in a page. */
async function openDraft(t: TestContext, as: Who = 'admin') {
  const ground = await openGround()
  const { kit } = ground
  const { bundle_id, policy } = await documentOf(ground, 'start')
  const { draft_id } = await kit.admin.createPolicyDraft({
    body: { name: 'Attacked', text: JSON.stringify(policy, null, 2), base: { bundle_id } },
  })
  const page = await openPage(t, ground, { as, expected: failures })
  await page.goto(`/admin/policy/edit?draft=${draft_id}`)
  await editorOf(page).waitFor()
  const params = { draft_id }
  return {
    ...{ ground, kit, page, draft_id },
    write: async (text: string) => editorOf(page).fill(await textOf(ground, text)),
    stored: async () => (await kit.admin.getPolicyDraft({ params })).text,
    /** Saves as another person. */
    overtake: async (text: string) =>
      kit.admin.updatePolicyDraft(
        { params, body: { name: 'Attacked', text: await textOf(ground, text), base: { bundle_id } } },
        { ifMatch: '*' },
      ),
    shows: async (text: string) => page.waitForFunction(shownIn, text),
  }
}

/** True if the JSON editor shows a text. Its lines are in a shadow root. */
const shownIn = (text: string) =>
  document.querySelector('.code-editor')?.shadowRoot?.textContent?.includes(text) ?? false

const failSaves = (page: Page) =>
  page.route(draftPath, (route) => (route.request().method() === 'PUT' ? route.fulfill(boom) : route.continue()))

test('the editor of a new draft stays as it is when the draft is created', options, async (t) => {
  const ground = await openGround()
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto('/admin/policy/edit?from=stable')
  await editorOf(page).fill(await textOf(ground, 'new draft'))
  await page.getByRole('button', { name: /^Edit rule git/ }).click()
  const sheet = page.getByRole('dialog')
  await sheet.getByLabel('Description').fill('typed in the sheet')
  await page.waitForURL(/draft=drf_/)
  await sheet.getByRole('button', { name: 'Apply' }).click()
  await page.waitForFunction(shownIn, 'typed in the sheet')
  await page.waitForFunction(shownIn, 'new draft')
})

test('text typed while a draft is created stays, with the focus', options, async (t) => {
  const ground = await openGround()
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto('/admin/policy/edit?from=stable')
  const created = Promise.withResolvers<void>()
  await page.route('**/v1/admin/policy-drafts', async (route) => {
    if (route.request().method() === 'POST') await created.promise
    await route.continue()
  })
  const asked = page.waitForRequest((request) => request.method() === 'POST' && /policy-drafts$/.test(request.url()))
  await editorOf(page).fill(await textOf(ground, 'first'))
  await asked
  await page.keyboard.press('Control+Home')
  await page.keyboard.type(' LATE')
  created.resolve()
  await page.waitForURL(/draft=drf_/)
  await page.keyboard.type('R')
  await page.waitForFunction(shownIn, ' LATER{')
  await page.getByText(/· saved \d\d:/).waitFor()
  const draft_id = new URL(page.url()).searchParams.get('draft')!
  assert.match((await ground.kit.admin.getPolicyDraft({ params: { draft_id } })).text, /^ LATER\{/)
})

test('a draft that is left at once is stored, and opens as it was left', options, async (t) => {
  const { page, write, stored, shows } = await openDraft(t)
  await page.route(draftPath, async (route) => {
    if (route.request().method() === 'PUT') await new Promise((resolve) => setTimeout(resolve, 1_000))
    await route.continue()
  })
  await write('left at once')
  await page.getByRole('link', { name: 'Policy', exact: true }).last().click()
  await page.goBack()
  await shows('left at once')
  assert.match(await stored(), /left at once/)
})

test('the page asks before it closes with text that is not saved', options, async (t) => {
  const { page, write } = await openDraft(t)
  await write('closed at once')
  const asked = page.waitForEvent('dialog')
  void page.close({ runBeforeUnload: true })
  const dialog = await asked
  assert.equal(dialog.type(), 'beforeunload')
  await dialog.dismiss()
})

test('a failed save keeps the editor open, and is repeated until it succeeds', options, async (t) => {
  const { page, write, stored } = await openDraft(t)
  await failSaves(page)
  await write('in spite of failures')
  await page.getByText('The last changes are not saved.').waitFor()
  await page.getByText('The disk is full.', { exact: false }).waitFor()
  await page.waitForFunction(() => document.querySelector('.problems')?.textContent?.includes('No problem'))
  await page.getByRole('button', { name: 'Review…' }).click()
  await page.getByText('The last changes are not saved.').waitFor()
  assert.equal(new URL(page.url()).pathname, '/admin/policy/edit')
  await page.unroute(draftPath)
  await page.getByText(/· saved \d\d:/).waitFor()
  assert.match(await stored(), /in spite of failures/)
})

test('a draft that is left while saves fail keeps its text in the window', options, async (t) => {
  const { page, write, stored, shows } = await openDraft(t)
  await failSaves(page)
  await write('kept in the window')
  await page.getByRole('link', { name: 'Policy', exact: true }).last().click()
  await page.getByText('The last changes of Attacked are not saved').waitFor()
  await page.unroute(draftPath)
  await page.getByRole('link', { name: 'Open the draft' }).click()
  await shows('kept in the window')
  await page.getByText(/· saved \d\d:/).waitFor()
  assert.match(await stored(), /kept in the window/)
})

test('text typed after the end of the session comes back after the sign-in', options, async (t) => {
  const { page, write, stored, shows } = await openDraft(t)
  const here = page.url()
  const cookies = await page.context().cookies()
  await page.context().clearCookies()
  await write('after the session')
  await page.waitForURL(/\/admin\/login/)
  await page.context().addCookies(cookies)
  await page.goto(here)
  await shows('after the session')
  await page.getByText(/· saved \d\d:/).waitFor()
  assert.match(await stored(), /after the session/)
})

test('a draft that another person deletes is stored as a new one', options, async (t) => {
  const { ground, page, draft_id, write, shows } = await openDraft(t)
  await ground.kit.admin.deletePolicyDraft({ params: { draft_id } })
  await write('outlives its draft')
  await page.getByText('Another person has deleted this draft.').waitFor()
  await page.getByRole('button', { name: 'Save as a new draft' }).click()
  await page.waitForURL((url) => url.searchParams.get('draft') !== draft_id)
  await shows('outlives its draft')
  const created = new URL(page.url()).searchParams.get('draft')!
  assert.match((await ground.kit.admin.getPolicyDraft({ params: { draft_id: created } })).text, /outlives its draft/)
})

test('no form changes a text that is not valid JSON, or that the caller may not change', options, async (t) => {
  const { ground, page, draft_id } = await openDraft(t)
  await editorOf(page).fill(`${await textOf(ground, 'broken')} TYPED`)
  await page.getByText('This is its last valid state.').waitFor()
  const reader = await openPage(t, ground, { as: 'viewer' })
  await reader.goto(`/admin/policy/edit?draft=${draft_id}`)
  for (const [one, reason] of [
    [page, 'Correct the JSON first.'],
    [reader, 'Needs the permission policy:write.'],
  ] as const) {
    await one.getByRole('button', { name: /^Edit rule git/ }).click()
    const sheet = one.getByRole('dialog')
    await sheet.getByLabel('Description').fill('from the form')
    const apply = sheet.getByRole('button', { name: 'Apply' })
    assert.equal(await apply.getAttribute('aria-disabled'), 'true')
    await sheet.getByText(reason).first().waitFor()
  }
  assert.ok(await page.evaluate(shownIn, 'TYPED'))
})

test('a rule that moves by keyboard keeps the focus, and moves again at once', options, async (t) => {
  const { page } = await openDraft(t)
  const names = () => page.locator('.rule .rid code').allInnerTexts()
  const before = await names()
  await page.locator('[data-rule="0"]').focus()
  await page.keyboard.press('Alt+ArrowDown')
  assert.deepEqual(await names(), [before[1], before[0], ...before.slice(2)])
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('data-rule')), '1')
  await page.keyboard.press('Alt+ArrowUp')
  assert.deepEqual(await names(), before)
})

test('a merge takes what was typed after its question', options, async (t) => {
  const { ground, kit, page, write, stored } = await openDraft(t)
  const { policy } = await documentOf(ground, 'of stable')
  await kit.admin.publishPolicy({ body: { channel: 'stable', policy, supersede: true } })
  await page.reload()
  await page.getByRole('button', { name: /^Merge v/ }).click()
  await page.getByRole('button', { name: 'Merge with my side' }).waitFor()
  await write('typed after the question')
  await page.getByRole('button', { name: 'Merge with my side' }).click()
  await page.getByText('typed after the question', { exact: false }).first().waitFor()
  await page.getByRole('button', { name: 'Merge with my side' }).click()
  await page.getByRole('button', { name: 'Merge with my side' }).waitFor({ state: 'detached' })
  await page.getByText(/· saved \d\d:/).waitFor()
  assert.match(await stored(), /typed after the question/)
})

test('a publication publishes what was reviewed, and keeps a draft that is newer', options, async (t) => {
  const { ground, kit, page, draft_id, overtake, stored } = await openDraft(t)
  await page.goto(`/admin/policy/review?draft=${draft_id}`)
  await page.getByLabel('Note').fill('As reviewed')
  await overtake('after the review')
  await page.getByRole('radio', { name: /^Stable/ }).check()
  await page.getByRole('button', { name: 'Publish to stable' }).click()
  await page.getByText('The draft Attacked is kept').waitFor()
  const { policy } = await documentOf(ground, '')
  const { items } = await kit.admin.listPolicyBundles({ query: { channel: 'stable', limit: 1 } })
  assert.equal(items[0]!.note, 'As reviewed')
  assert.doesNotMatch(JSON.stringify(policy), /after the review/)
  assert.match(await stored(), /after the review/)
})

test('a review says that stable is newer than the draft, and publishes nothing over it unseen', options, async (t) => {
  const { ground, kit, page, draft_id } = await openDraft(t)
  await page.goto(`/admin/policy/review?draft=${draft_id}`)
  await page.getByLabel('Note').fill('Too late')
  await page.getByRole('radio', { name: /^Stable/ }).check()
  // The stream of changes would show the new version.
  await page.route('**/v1/admin/policy?*', (route) => route.abort())
  const { policy } = await documentOf(ground, 'published meanwhile')
  await kit.admin.publishPolicy({ body: { channel: 'stable', policy, supersede: true } })
  await page.getByRole('button', { name: 'Publish to stable' }).click()
  await page.getByText('Another person has published to stable meanwhile.').waitFor()
  await page.unroute('**/v1/admin/policy?*')
  await page.getByRole('button', { name: 'Show what changes now' }).click()
  await page.getByText(/^Stable is now v\d+, and the draft began with v\d+\.$/).waitFor()
  const { items } = await kit.admin.listPolicyBundles({ query: { channel: 'stable', limit: 1 } })
  assert.notEqual(items[0]!.note, 'Too late')
})

test('the editor forgets a draft that was discarded', options, async (t) => {
  const { page, draft_id, write } = await openDraft(t)
  await write('discarded')
  await page.getByRole('button', { name: 'More actions for the draft' }).click()
  await page.getByRole('menuitem', { name: 'Discard draft…' }).click()
  await page.getByRole('button', { name: 'Discard the draft' }).click()
  await page.getByRole('heading', { name: 'Channels' }).waitFor()
  await page.getByRole('link', { name: 'Edit draft' }).click()
  await editorOf(page).waitFor()
  assert.notEqual(new URL(page.url()).searchParams.get('draft'), draft_id)
  assert.equal(await page.getByText('are not saved', { exact: false }).count(), 0)
})

test('very deep JSON is a problem with a place, and not a failure of the page', options, async (t) => {
  const { page, shows } = await openDraft(t)
  await editorOf(page).fill(`{ "rules": ${'['.repeat(20_000)} `)
  await page.getByText('The text has more than 200 levels of brackets.').first().waitFor()
  await shows('"rules"')
})
