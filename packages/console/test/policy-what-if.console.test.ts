import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inBrowser, openGround } from './ground.ts'
import { openPage, settle } from './page.ts'

test('Back shows the earlier question in the form, as in the answer', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'admin' })
  await page.goto('/admin/policy/what-if?ask=who&target=wiki')
  const target = page.getByLabel('Who reaches', { exact: true })
  await page.getByRole('heading', { name: 'Who reaches wiki' }).waitFor()
  await target.fill('git')
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
  await page.getByRole('heading', { name: 'Who reaches git' }).waitFor()
  await page.goBack()
  await page.getByRole('heading', { name: 'Who reaches wiki' }).waitFor()
  assert.equal(await target.inputValue(), 'wiki')
})

test('an answer that is compared with nothing names one policy', inBrowser, async (t) => {
  const ground = await openGround()
  const { items } = await ground.kit.admin.listDevices({ query: { limit: 1 } })
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto(`/admin/policy/what-if?device_id=${items[0]!.device_id}&target=git.example.com:tcp/22`)
  await settle(page)
  assert.equal(await page.locator('.verdict h2').innerText(), 'Denied now')
})

test('stable is offered even if many canaries are newer', { ...inBrowser, timeout: 120_000 }, async (t) => {
  const ground = await openGround()
  const { items } = await ground.kit.admin.listPolicyBundles({ query: { channel: 'stable', limit: 1 } })
  for (let i = 0; i < 51; i++)
    await ground.kit.admin.publishPolicy({
      body: { channel: 'canary', from: { channel: 'stable' }, rollout: { percent: 1 }, note: `Canary ${i}` },
    })
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto('/admin/policy/what-if?ask=who&target=wiki')
  await settle(page)
  const offered = await page.getByLabel('under').locator('option').allInnerTexts()
  assert.ok(offered.includes(`Stable v${items[0]!.version}`), offered.slice(0, 4).join(', '))
})
