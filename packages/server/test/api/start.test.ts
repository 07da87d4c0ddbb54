import assert from 'node:assert/strict'
import { test } from 'node:test'
import { examples } from '@holdfast/contract/examples'
import { type StartStepName, startSteps } from '@holdfast/contract/vocabulary'
import { createAdmin } from '@holdfast/sdk'
import { enroll, enrollRaw } from '../support/actors/devices.ts'
import { makeGateway, meteringReport, newVpnSessionId } from '../support/actors/gateways.ts'
import { enrollFactor, makeUser, signInAs } from '../support/actors/people.ts'
import { refused } from '../support/clients/answers.ts'
import { startCommand } from '../support/clients/cli-command.ts'
import { createClock, type Kit, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { inbox } from '../support/domain/notifications.ts'
import { publish, rule } from '../support/domain/policy.ts'

const doneOf = async ({ admin }: Pick<Kit, 'admin'>) =>
  (await admin.getStart()).steps.filter((s) => s.done).map((s) => s.step)

test('the setup steps of a tenant follow from its state, and can be dismissed', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now, replicas: 2 })
  const { steps } = await kit.admin.getStart()
  assert.deepEqual(
    steps.map((s) => s.step),
    startSteps,
  )
  assert.ok(steps.every((s) => !s.done && s.since === null && !s.dismissed))

  const { client, gateway } = await makeGateway(kit)
  await client.heartbeat({ body: { boot_id: 'b', active_sessions: 0 } })
  await publish(kit, [rule('all', { any: true })])
  const device = await enroll(kit, 'laptop')
  await client.metering({
    body: meteringReport([
      { session_id: newVpnSessionId(), device_id: device.id, state: 'active', rx_bytes: 1, tx_bytes: 1 },
    ]),
  })
  clock.advance?.(10)
  const expected: StartStepName[] = ['gateway', 'policy', 'enrollment_token', 'device_enrolled', 'device_online']
  await until(async () => (await doneOf(kit)).length === expected.length)
  assert.deepEqual(await doneOf(kit), expected)
  assert.ok(gateway)
  const since = (await kit.admin.getStart()).steps.find((s) => s.step === 'device_enrolled')?.since
  assert.equal(since, (await kit.admin.getDevice({ params: { device_id: device.id } })).enrolled_at)

  await t.test('of twenty concurrent dismissals of a step one changes it, and it can be restored', async () => {
    const clients = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
    const dismiss = (dismissed: boolean) =>
      times(20, (i) => clients[i % 2]!.dismissStartStep({ body: { step: 'audit_forwarding', dismissed } }))
    for (const dismissed of [true, false, true]) {
      const answers = await dismiss(dismissed)
      assert.equal(answers.filter((a) => a.changed).length, 1)
      assert.ok(answers.every((a) => a.step.dismissed === dismissed))
    }
    assert.equal((await eventsOf(kit, 'start_step.dismissed')).length, 3)
    assert.equal((await kit.admin.getStart()).complete, false, 'the sign-in is not secured')
  })

  await t.test('a second factor on the own account completes the step of securing sign-in', async () => {
    await makeUser(kit, 'jane', ['tenant_admin'])
    const signedIn = async () => {
      const person = await signInAs(kit, 'jane')
      return createAdmin({ baseUrl: kit.publicUrl, dispatcher: kit.dispatcher, cookie: person.cookie() })
    }
    assert.equal((await (await signedIn()).getStart()).complete, false)
    await enrollFactor(kit, 'jane')
    assert.ok(!(await doneOf(kit)).includes('sign_in'), 'an API key has no account')
  })

  const viewer = await kit.as('viewer')
  await t.test('a caller without read permission sees that a step is done, without its time', async () => {
    // Created disabled, so that no request is sent to them: example.com is not ours.
    await kit.admin.createIdentityProvider({ body: examples.createIdentityProvider })
    await kit.admin.createSiemConnector({ body: examples.createSiemConnector })
    await kit.db.inTenant(kit.tenant, async (tx) => {
      const enabled = { enabled: true }
      await tx.updateTable('identity_providers').set(enabled).where('tenant_id', '=', kit.tenant).execute()
      await tx.updateTable('siem_connectors').set(enabled).where('tenant_id', '=', kit.tenant).execute()
    })
    clock.advance?.(10)
    await until(async () => (await doneOf(kit)).length === startSteps.length)
    const steps = (await viewer.getStart()).steps
    assert.ok(steps.every((s) => s.done))
    const hidden = steps.filter((s) => s.since === null).map((s) => s.step)
    assert.deepEqual(hidden, ['sign_in', 'enrollment_token', 'audit_forwarding'])
    assert.ok((await kit.admin.getStart()).steps.every((s) => s.since !== null))
  })
  await assert.rejects(viewer.dismissStartStep({ body: { step: 'policy' } }), refused(403))
})

test('one notification counts the devices waiting for approval, and closes when none waits', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { secret, enrollment_token } = await kit.admin.generateToken({ body: { max_uses: 0, requires_approval: true } })
  const open = async () => (await inbox(kit)).filter((n) => n.kind === 'device.awaiting_approval')
  const says = async (title: string | undefined) => until(async () => (await open())[0]?.title === title, title)
  await enrollRaw(kit, secret, 'first')
  await says('1 device waits for approval')
  const devices = await times(4, (i) => enrollRaw({ ...kit, ...kit.replicas[i % 2]! }, secret, `d${i}`))
  await says('5 devices wait for approval')
  assert.equal((await open()).length, 1)

  await kit.admin.changeDevice({ body: { operation: 'revoke', device_id: devices[0]!.id } })
  await says('4 devices wait for approval')
  const filter = { token_id: enrollment_token.token_id, status: 'pending' as const }
  const { summary } = await kit.admin.changeDevices({ body: { operation: 'approve', filter } })
  assert.deepEqual(summary, { changed: 4, unchanged: 0, failed: 0 })
  await says(undefined)
  assert.deepEqual((await kit.admin.listDevices({ query: { status: 'pending' } })).items, [])

  await enrollRaw(kit, secret, 'next')
  await says('1 device waits for approval')
  const [{ notification_id } = assert.fail()] = await open()
  await kit.admin.acknowledgeNotification({ params: { notification_id } })
  await runJob(kit.app, 'watch_waiting_devices')
  assert.deepEqual(await open(), [], 'a person has seen it')
  await enrollRaw(kit, secret, 'another')
  await says('2 devices wait for approval')
})

test('the command prints the setup steps, and the install line with a token', async (t) => {
  const kit = await startKit(t)
  const { run } = await startCommand(t, kit)
  assert.match((await run('status', 'start')).out, /^STEP +DONE +SINCE\nsign_in +no/)
  assert.match((await run('status', 'dismiss', 'audit_forwarding')).out, /dismissed +true|dismissed +yes/)
  const set = await run('settings', 'enrollment', 'set', 'install_templates.linux=acme enroll {server} {token}')
  assert.equal(set.code, 0, set.err)
  const one = await run('token', 'create', '--print-install', '--platform', 'linux')
  assert.match(one.out, /^acme enroll http:\/\/holdfast\.test hfe_\w+\n$/)
  assert.match(
    (await run('token', 'create', '--print-install')).out,
    /^PLATFORM +INSTALL LINE[\s\S]*\nlinux +acme enroll .* hfe_/,
  )
  const bootstrap = await run('token', 'create', '--print-install', '--kind', 'bootstrap')
  assert.match(bootstrap.out, /^hfe_\w+\n$/)
  assert.match(bootstrap.err, /No install line/)
  const { secret, enrollment_token } = await kit.admin.generateToken({ body: { name: 'of laptops' } })
  const device = await enrollRaw(kit, secret)
  await enrollRaw(kit, (await kit.admin.generateToken({ body: {} })).secret, 'other')
  for (const named of ['of laptops', enrollment_token.token_id]) {
    const { out } = await run('--json', 'device', 'list', '--token', named)
    assert.ok(out.includes(device.id) && !out.includes('other'), out)
  }
  assert.match(
    (await run('settings', 'enrollment', 'set', 'install_lines.linux=x')).err,
    /There is no install_lines\.linux/,
  )
})
