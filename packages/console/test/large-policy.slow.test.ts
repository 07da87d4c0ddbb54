import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inBrowser, openGround } from './ground.ts'
import { openPage, settle } from './page.ts'
import { traceTasks } from './trace.ts'

const rules = Number(process.env.HOLDFAST_TEST_RULES ?? 2_000)
const options = { ...inBrowser, timeout: 600_000 }
/** Bars of the design: no task longer than this while a person types, and at most so many elements. */
const most = { taskMs: 100, elements: 8_000 }

/** A policy with many rules. Each rule has its own resource. */
const documentOf = (description: string) => ({
  schema: 'holdfast.policy/1',
  resources: Object.fromEntries(
    Array.from({ length: rules }, (_, i) => [
      `service-${i}`,
      { cidrs: [`10.${i >> 8}.${i & 255}.0/28`], ports: ['tcp/443'] },
    ]),
  ),
  posture_checks: { disk: { expression: 'disk.encrypted' } },
  rules: Array.from({ length: rules }, (_, i) => ({
    id: `rule-${i}`,
    description: `${description} ${i}`,
    action: 'allow',
    from: i % 3 === 0 ? { any: true } : { groups: [i % 2 === 0 ? 'engineering' : 'sales'] },
    to: [`service-${i}`],
    ...(i % 5 === 0 && { when: { posture: ['disk'] } }),
  })),
})

test(`a draft of ${rules} rules is edited without a pause, and reviewed quickly`, options, async (t) => {
  const ground = await openGround()
  const { kit } = ground
  const { bundle_id } = await kit.admin.publishPolicy({
    body: { channel: 'stable', policy: documentOf('As it is'), supersede: true },
  })
  const text = JSON.stringify(documentOf('As it is'), null, 2)
  const { draft_id } = await kit.admin.createPolicyDraft({ body: { name: 'Large', text, base: { bundle_id } } })
  const page = await openPage(t, ground, { as: 'admin' })
  const began = performance.now()
  await page.goto(`/admin/policy/edit?draft=${draft_id}`)
  const editor = page.getByRole('textbox', { name: 'Policy as JSON' })
  await editor.waitFor()
  await page.getByText('No problem').waitFor()
  t.diagnostic(`opened and checked after ${Math.round(performance.now() - began)} ms, ${text.length} characters`)

  await page.getByRole('button', { name: 'Actions for rule rule-0' }).click()
  await page.getByRole('menuitem', { name: 'Show in JSON' }).click()
  await page.locator('.cm-line', { hasText: '"description"' }).first().click()
  await page.keyboard.press('End')
  await page.keyboard.press('ArrowLeft')
  await page.keyboard.press('ArrowLeft')
  const typed = await traceTasks(page, async () => {
    for (const key of ' with a longer description, typed at the pace of a person') {
      await page.keyboard.type(key)
      await page.waitForTimeout(60)
    }
  })
  t.diagnostic(`typing: longest task ${Math.round(typed.longestMs)} ms`)
  const rested = await traceTasks(page, async () => {
    await page.getByText(/· saved \d\d:/).waitFor({ timeout: 60_000 })
    await page.getByText('No problem').waitFor({ timeout: 60_000 })
  })
  t.diagnostic(`after the pause: longest task ${Math.round(rested.longestMs)} ms`)
  const elements = await page.evaluate(() => document.querySelectorAll('*').length)
  t.diagnostic(`${elements} elements`)

  const reviewed = performance.now()
  await page.getByRole('button', { name: 'Review…' }).click()
  await page.getByText('typed at the pace of a person').first().waitFor()
  await page.getByText('grants gained').waitFor()
  t.diagnostic(`review after ${Math.round(performance.now() - reviewed)} ms`)
  await settle(page)
  assert.ok(typed.longestMs <= most.taskMs, `a task took ${typed.longestMs} ms while typing`)
  assert.ok(elements <= most.elements, `${elements} elements`)
})
