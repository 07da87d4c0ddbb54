import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Page } from 'playwright-core'
import { decodeId } from '../../server/src/kernel/ids.ts'
import { everything } from '../../server/src/replication/changes.ts'
import { passwordOf } from '../../server/test/support/actors/people.ts'
import { fillGroup } from './fleet-many.ts'
import { type Ground, inBrowser, openGround } from './ground.ts'
import { median } from './paces.ts'
import { fillSignIn, openPage, settle } from './page.ts'
import { traceTasks } from './trace.ts'

/** Members of the large group. */
const size = Number(process.env.HOLDFAST_TEST_MEMBERS ?? 50_000)
const options = { ...inBrowser, timeout: 600_000 }
/** Bars K8 and K16 of the design for the page; `answerMs` is generous, since the machine may have other work. */
const most = { elements: 2_000, taskMs: 100, answerMs: 2_000 }
const ms = (n: number) => `${Math.round(n)} ms`

/** Creates a tenant with the group, and signs in its administrator. */
async function openGroup(t: TestContext, ground: Ground): Promise<{ page: Page; group_id: string }> {
  const { kit } = ground
  const tenant = await kit.newTenant('crowd')
  const keeper = { username: 'keeper', password: passwordOf('keeper'), roles: ['tenant_admin'] as const }
  await kit.app.identity.createUser(tenant, keeper)
  const admin = await kit.as('tenant_admin', tenant)
  const { group } = await admin.changeGroup({ body: { operation: 'create', group: { name: 'everyone' } } })
  await fillGroup(kit, tenant, decodeId('group', group.group_id)!, size)
  await kit.db.inTenant(tenant, (tx) =>
    kit.app.changes.record(tx, tenant, [
      { kind: 'user', subject: everything },
      { kind: 'device', subject: everything },
    ]),
  )
  const page = await openPage(t, ground)
  await page.goto('/admin/login')
  await fillSignIn(page, { username: 'crowd/keeper', password: passwordOf('keeper') })
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.waitForURL((url) => !url.pathname.startsWith('/admin/login'))
  await settle(page)
  return { page, group_id: group.group_id }
}

test('the page of a group with many members stays quick', options, async (t) => {
  const { page, group_id } = await openGroup(t, await openGround())
  const took: Record<string, number> = {}
  const timed = async (action: string, act: () => Promise<unknown>) => {
    const began = performance.now()
    await act()
    took[action] = performance.now() - began
  }
  const panel = page.getByRole('tabpanel')
  const nearLast = `member-${String(size - 1).padStart(6, '0')}`
  const member = (n: number) => panel.getByRole('link', { name: `Member ${n}`, exact: true })
  await timed('first page', async () => {
    await page.goto(`/admin/groups/${group_id}`)
    await member(1).waitFor()
  })
  await settle(page)
  const pages: number[] = []
  const tasks = await traceTasks(page, async () => {
    for (let at = 1; at <= 10; at++) {
      const began = performance.now()
      await panel.getByRole('button', { name: 'Next' }).click()
      await member(at * 50 + 1).waitFor()
      pages.push(performance.now() - began)
    }
    await timed('search', async () => {
      await panel.getByLabel('Filter members').fill(nearLast)
      await member(size - 1).waitFor()
      await member(1).waitFor({ state: 'detached' })
    })
    await timed('remove', async () => {
      await panel.getByRole('button', { name: `Remove Member ${size - 1}` }).click()
      await page.getByText(`Member ${size - 1} removed from everyone`).waitFor()
    })
    await timed('add', async () => {
      await page.keyboard.press('a')
      await page.getByRole('combobox', { name: 'Members' }).fill(nearLast)
      await page.getByRole('option', { name: nearLast }).click()
      await page.getByRole('button', { name: 'Add member' }).last().click()
      await member(size - 1).waitFor()
    })
    for (const tab of ['Where used', 'Devices', 'Activity'])
      await timed(tab, async () => {
        await page.getByRole('tab', { name: tab }).click()
        await settle(page)
      })
  })
  const elements = await page.evaluate(() => document.querySelectorAll('*').length)
  const durations = Object.entries(took).map(([action, n]) => `${action} ${ms(n)}`)
  t.diagnostic(
    `${size.toLocaleString('en')} members: ${durations.join(', ')}; next page median ${ms(median(pages))}, ` +
      `longest ${ms(Math.max(...pages))}; longest task ${ms(tasks.longestMs)}; ${elements} elements`,
  )
  assert.ok(elements <= most.elements, `${elements} elements`)
  assert.ok(tasks.longestMs <= most.taskMs, `a task of ${ms(tasks.longestMs)}`)
  assert.ok(median(pages) <= most.answerMs, `a page takes ${ms(median(pages))}`)
})
