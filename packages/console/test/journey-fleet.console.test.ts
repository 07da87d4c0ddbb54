import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { enroll } from '../../server/test/support/actors/devices.ts'
import { makeGateway, meteringReport, newVpnSessionId } from '../../server/test/support/actors/gateways.ts'
import { times } from '../../server/test/support/deployment/deployment.ts'
import { contentOf } from '../../server/test/support/domain/releases.ts'
import { type Ground, inBrowser, openGround } from './ground.ts'
import { openPage, settle } from './page.ts'

type Running = Awaited<ReturnType<typeof startSessions>>[number]

/**
 * Starts sessions of new devices on a gateway of its own. `comeBack` reports a new session of a device and returns the
 * gateway's response.
 */
async function startSessions({ kit }: Ground, gatewayName: string, count: number) {
  const { gateway, client } = await makeGateway(kit, gatewayName)
  const devices = await times(count, (i) => enroll(kit, `${gatewayName}-laptop-${i + 1}`))
  const samples = devices.map(({ id }) => ({
    session_id: newVpnSessionId(),
    device_id: id,
    state: 'active' as const,
    rx_bytes: 1000,
    tx_bytes: 2000,
  }))
  await client.metering({ body: meteringReport(samples) })
  return samples.map((sample, i) => ({
    session_id: sample.session_id,
    device_id: sample.device_id,
    deviceName: `${gatewayName}-laptop-${i + 1}`,
    gateway_id: gateway.gateway_id,
    comeBack: () => client.metering({ body: meteringReport([{ ...sample, session_id: newVpnSessionId() }]) }),
  }))
}

const rowOf = (page: Page, { session_id }: Running) => page.locator(`tr[data-id="${session_id}"]`)

/** Asserts that a session has left the list, and that the server tells its gateway to refuse the device. */
async function hasEnded({ kit }: Ground, page: Page, session: Running): Promise<void> {
  await rowOf(page, session).waitFor({ state: 'detached' })
  const { session_id } = session
  const { end_reason, block_until } = await kit.admin.getSession({ params: { session_id } })
  assert.equal(end_reason, 'admin')
  assert.ok(block_until !== null && Date.parse(block_until) > Date.now())
  const { ended_sessions = [] } = await session.comeBack()
  assert.deepEqual(
    ended_sessions.map(({ reason }) => reason),
    ['blocked'],
  )
}

test('sessions are ended by mouse, one and several, and their gateway blocks the devices', inBrowser, async (t) => {
  const ground = await openGround()
  const [one, two, three] = (await startSessions(ground, 'end-by-mouse', 3)) as [Running, Running, Running]
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto(`/admin/sessions?gateway_id=${one.gateway_id}`)
  await rowOf(page, one).getByRole('link').click()
  const panel = page.getByRole('complementary', { name: `Session of ${one.deviceName}` })
  await panel.getByRole('button', { name: 'End session…' }).click()
  const question = page.getByRole('alertdialog')
  await question.getByLabel('Keep the device out for').selectOption('15 minutes')
  await question.getByRole('button', { name: 'End session', exact: true }).click()
  await hasEnded(ground, page, one)
  await panel.getByText('Ended, by an admin').waitFor()
  await page.getByRole('button', { name: 'Close panel' }).click()
  for (const session of [two, three]) await rowOf(page, session).getByRole('checkbox').check()
  await page.getByRole('toolbar').getByRole('button', { name: 'End sessions' }).click()
  await page.getByRole('button', { name: 'End 2 sessions' }).click()
  for (const session of [two, three]) await hasEnded(ground, page, session)
})

test('the session of a device is ended on its page, with the same question', inBrowser, async (t) => {
  const ground = await openGround()
  const [session] = (await startSessions(ground, 'end-at-device', 1)) as [Running]
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto(`/admin/devices/${session.device_id}`)
  await page.getByRole('button', { name: 'End session…' }).click()
  const question = page.getByRole('alertdialog')
  await question.getByRole('button', { name: 'Keep session', exact: true }).click()
  await page.getByRole('button', { name: 'End session…' }).click()
  await question.getByRole('button', { name: 'End session', exact: true }).click()
  await page.getByRole('button', { name: 'End session…' }).waitFor({ state: 'detached' })
  const { end_reason } = await ground.kit.admin.getSession({ params: { session_id: session.session_id } })
  assert.equal(end_reason, 'admin')
})

test('a session is ended by keyboard; Escape cancels and returns the focus', inBrowser, async (t) => {
  const ground = await openGround()
  const [session] = (await startSessions(ground, 'end-by-key', 1)) as [Running]
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto(`/admin/sessions?gateway_id=${session.gateway_id}`)
  const link = rowOf(page, session).getByRole('link')
  await link.focus()
  await page.keyboard.press('e')
  await page.getByRole('button', { name: 'Keep session', exact: true }).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Escape')
  await link.and(page.locator(':focus')).waitFor()
  await page.keyboard.press('e')
  await page.getByRole('button', { name: 'Keep session', exact: true }).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await hasEnded(ground, page, session)
})

test('the helpdesk sees sessions, and why it cannot end them', inBrowser, async (t) => {
  const page = await openPage(t, await openGround(), { as: 'helpdesk' })
  await page.goto('/admin/sessions')
  await page.locator('[data-row-link]').first().click()
  await page.getByText('Needs the permission sessions:terminate.').first().waitFor()
  await page.goto('/admin/updates')
  await page.getByText('updates:read').first().waitFor()
})

test('a draft gets a package, is published to a share, and the share is increased', inBrowser, async (t) => {
  const ground = await openGround()
  const { kit } = ground
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto('/admin/updates')
  await page.getByRole('button', { name: 'New release' }).click()
  await page.getByLabel('Version', { exact: true }).fill('7.1.0')
  await page.getByRole('button', { name: 'Create draft' }).click()
  const panel = page.getByRole('complementary', { name: 'Release 7.1.0' })
  await panel.getByText('Add a package first.').first().waitFor()
  const file = { name: 'client-7.1.0.pkg', mimeType: 'application/octet-stream', buffer: contentOf('7.1.0') }
  await panel.getByLabel('Package file').setInputFiles(file)
  await panel.getByRole('button', { name: 'Upload package' }).click()
  await panel.getByText('client-7.1.0.pkg').first().waitFor()
  await panel.getByRole('button', { name: 'Publish…' }).click()
  await page.getByLabel('Offer it to').fill('10')
  await page.getByRole('button', { name: 'Publish 7.1.0' }).click()
  await panel.getByText('10 % of devices').waitFor()
  const { items } = await kit.admin.listReleases({ query: { status: 'published' } })
  const { release_id, rollout } = items.find(({ version }) => version === '7.1.0')!
  assert.equal(rollout.percent, 10)
  await panel.getByRole('button', { name: 'Set rollout…' }).click()
  await page.getByLabel('Offer it to').fill('50')
  await page.getByRole('button', { name: 'Set rollout', exact: true }).click()
  await panel.getByText('50 % of devices').waitFor()
  assert.equal((await kit.admin.getRelease({ params: { release_id } })).rollout.percent, 50)
})

test('each posture figure links to its devices', inBrowser, async (t) => {
  const ground = await openGround()
  const page = await openPage(t, ground, { as: 'admin' })
  await page.goto('/admin/posture')
  await page.getByRole('link', { name: /^Fails/ }).click()
  await page.getByRole('heading', { name: 'Devices' }).waitFor()
  await settle(page)
  const { searchParams } = new URL(page.url())
  assert.deepEqual(Object.fromEntries(searchParams), { effective_status: 'active', posture: 'non_compliant' })
  const query = { effective_status: 'active', posture: 'non_compliant', limit: 200 } as const
  const { items } = await ground.kit.admin.listDevices({ query })
  assert.equal(await page.locator('tr[data-id]').count(), items.length)
})
