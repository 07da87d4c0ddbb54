import assert from 'node:assert/strict'
import { test } from 'node:test'
import { verifyJws } from '@holdfast/crypto'
import { enrollDevice } from '@holdfast/sdk'
import pg from 'pg'
import { enrollOnChannel } from '../support/actors/devices.ts'
import { payloadOf, refused } from '../support/clients/answers.ts'
import { type Kit, startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import {
  changeRelease,
  draftRelease,
  offeredUpdates,
  publishRelease,
  upload,
  versionsIn,
} from '../support/domain/releases.ts'

/** The same deployment as an administrator of a tenant without releases. */
async function newTenantOf(kit: Kit): Promise<Kit> {
  const tenant = await kit.newTenant()
  return { ...kit, tenant, admin: await kit.as('tenant_admin', tenant) }
}

test('releases on two replicas', async (t) => {
  const kit = await startKit(t, { replicas: 2 })

  await t.test(
    'a draft is not offered, a published release is offered on every replica, and a halted one never again',
    async () => {
      const device = await enrollOnChannel(kit, 'laptop')
      const other = kit.clientFor(kit.adminKey, kit.replicas[1]!)
      const ask = async () => {
        await kit.heard()
        const [here, there] = await Promise.all([
          offeredUpdates(kit, device.id),
          offeredUpdates(kit, device.id, {}, other),
        ])
        assert.deepEqual(versionsIn(here), versionsIn(there))
        return versionsIn(here)
      }
      const { release_id, package: made } = await draftRelease(kit, '1.1.0', { notes: 'Faster.' })
      assert.deepEqual(await ask(), [])
      assert.equal(made.target_path, '1.1.0/linux/x64/client.tar.gz')

      const move = async (operation: Parameters<typeof changeRelease>[2]['operation'], reason?: string) => {
        const { changed, release } = await changeRelease(kit.admin, release_id, {
          operation,
          ...(reason && { reason }),
        })
        return { changed, status: release.status, reason: release.reason }
      }
      assert.deepEqual(await move('publish'), { changed: true, status: 'published', reason: null })
      assert.deepEqual(await move('publish'), { changed: false, status: 'published', reason: null })
      assert.deepEqual(await ask(), ['1.1.0'])
      assert.deepEqual(await move('pause', 'slow starts'), { changed: true, status: 'paused', reason: 'slow starts' })
      assert.deepEqual(await ask(), [])
      assert.deepEqual(await move('resume'), { changed: true, status: 'published', reason: null })
      assert.deepEqual(await ask(), ['1.1.0'])
      await assert.rejects(move('halt'), refused(422, /this operation cannot be undone/))
      assert.deepEqual(await move('halt', 'it eats files'), {
        changed: true,
        status: 'halted',
        reason: 'it eats files',
      })
      assert.deepEqual(await ask(), [])
      for (const operation of ['resume', 'publish', 'pause', 'promote'] as const)
        await assert.rejects(move(operation), refused(422, /the release is halted/), operation)
      assert.deepEqual(await move('withdraw', 'done'), { changed: true, status: 'withdrawn', reason: 'done' })

      const { items } = await kit.admin.listNotifications({ query: { kind: 'release.halted' } })
      assert.match(items[0]!.detail, /it eats files/)
      assert.deepEqual((await eventsOf(kit, 'release.changed')).map((e) => 'operation' in e && e.operation).reverse(), [
        'publish',
        'pause',
        'resume',
        'halt',
        'withdraw',
      ])
      await assert.rejects(
        kit.admin.createRelease({ body: { version: '1.1.0', channel: 'stable' } }),
        refused(422, /is already the version of another release/),
        'a version is one content for good',
      )
    },
  )

  await t.test(
    'of twenty concurrent publishes, halts or creations of one version on two replicas, one succeeds',
    async () => {
      const clients = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
      const { release_id } = await draftRelease(kit, '1.0.0')
      for (const body of [{ operation: 'publish' }, { operation: 'halt', reason: 'r' }] as const) {
        const done = await times(20, (i) => changeRelease(clients[i % 2]!, release_id, body))
        assert.equal(done.filter((d) => d.changed).length, 1, body.operation)
      }
      const made = await Promise.allSettled(
        Array.from({ length: 20 }, (_, i) =>
          clients[i % 2]!.createRelease({ body: { version: '2.0.0', channel: 'stable' } }),
        ),
      )
      assert.equal(made.filter((m) => m.status === 'fulfilled').length, 1)
    },
  )
})

test('changes of a release, and the devices to which it is offered', async (t) => {
  const kit = await startKit(t)

  await t.test('a published release cannot be changed; a draft can, and is deleted without trace', async () => {
    const first = await draftRelease(kit, '4.0.0', { channel: 'canary' })
    const shown = await kit.admin.getRelease(first.params)
    const edited = await kit.admin.updateRelease({ ...first.params, body: { ...shown, mandatory: true, notes: 'a' } })
    assert.deepEqual([edited.mandatory, edited.notes, edited.packages], [true, 'a', 1])
    await assert.rejects(
      kit.admin.updateRelease({ ...first.params, body: { ...shown, channel: 'stable' } }),
      refused(422, /channel: cannot be changed/),
    )
    await changeRelease(kit.admin, first.release_id, { operation: 'publish' })
    const package_id = first.package.package_id
    for (const work of [
      () => kit.admin.updateRelease({ ...first.params, body: { ...shown, status: 'published', notes: 'b' } }),
      () => upload(kit.admin, first.release_id, Buffer.from('x'), { filename: 'more.tar.gz' }),
      () => kit.admin.deletePackage({ params: { release_id: first.release_id, package_id } }),
      () => kit.admin.deleteRelease(first.params),
    ])
      await assert.rejects(work, refused(422, /published/))

    const second = await draftRelease(kit, '4.1.0')
    await kit.admin.deletePackage({ params: { release_id: second.release_id, package_id: second.package.package_id } })
    await assert.rejects(
      changeRelease(kit.admin, second.release_id, { operation: 'publish' }),
      refused(422, /no packages/),
    )
    await kit.admin.deleteRelease(second.params)
    await assert.rejects(kit.admin.getRelease(second.params), refused(404))
    await draftRelease(kit, '4.1.0')
    assert.equal((await kit.admin.listReleases({ query: { status: 'draft' } })).items.length, 1)
  })

  await t.test('a release of another tenant is not found', async () => {
    const { release_id, package: made, params } = await publishRelease(kit, '5.0.0')
    const foreign = await kit.as('tenant_admin', await kit.newTenant())
    await assert.rejects(foreign.getRelease(params), refused(404))
    await assert.rejects(upload(foreign, release_id, Buffer.from('x')), refused(404))
    await assert.rejects(foreign.updatePackage({ query: { target: made.package_id } }), refused(404))
    assert.deepEqual((await foreign.listReleases()).items, [])
  })

  await t.test('a manifest is signed, has an ETag, and is equal for devices with equal answers', async () => {
    const [one, two] = [await enrollOnChannel(kit, 'one'), await enrollOnChannel(kit, 'two')]
    await publishRelease(kit, '6.2.0', { mandatory: true, severity: 'high', notes_url: 'https://example.com/6.2.0' })
    const query = { platform: 'linux', arch: 'x64', version: '1.0.0' } as const
    const asked = await one.send('updateManifest', { query })
    const { signature, ...said } = asked.body!
    const signed = payloadOf(signature)
    assert.deepEqual(signed.updates, said.updates)
    assert.deepEqual(said.client_version, { current: '1.0.0', minimum: '6.2.0', latest: '6.2.0' })
    assert.deepEqual([said.updates[0]!.mandatory, said.updates[0]!.severity], [true, 'high'])
    const { jwks } = await kit.admin.trustAnchors()
    const key = jwks.keys.find((k) => k.holdfast_purpose.includes('update'))!
    const { importPublic } = await import('@holdfast/crypto')
    verifyJws(signature, {
      typ: 'update-manifest+jws',
      key: (kid) => (kid === key.kid ? { publicKey: importPublic(key), alg: 'ES256' } : undefined),
    })
    const etag = String(asked.headers.etag)
    const again = await two.send('updateManifest', { query }, { headers: { 'if-none-match': etag } })
    assert.equal(again.status, 304)
    assert.equal((await two.client.updateManifest({ query })).signature, signature, 'one signature for both')
    const own = await one.client.updateManifest({ query: { ...query, device_id: one.id } })
    assert.equal(own.signature, signature)
    await assert.rejects(one.client.updateManifest({ query: { ...query, device_id: two.id } }), refused(403))
    await assert.rejects(kit.admin.updateManifest({ query }), refused(400, /device_id/))
  })

  await t.test(
    'a device that is current, on another platform, or below the minimum version is offered nothing, and never a downgrade',
    async () => {
      const own = await newTenantOf(kit)
      const device = await enrollOnChannel(own, 'laptop')
      await publishRelease(own, '1.1.0')
      await publishRelease(own, '1.2.0', { mandatory: true })
      await publishRelease(own, '2.0.0', { min_from_version: '1.2.0' })
      await publishRelease(own, '2.1.0-rc.1', { channel: 'canary' })
      const ask = async (version: string, more: Parameters<typeof offeredUpdates>[2] = {}) => {
        const { updates, client_version } = await offeredUpdates(own, device.id, { version, ...more })
        return [updates[0]?.version, updates[0]?.mandatory, client_version.minimum, client_version.latest]
      }
      assert.deepEqual(await ask('1.0.0'), ['1.2.0', true, '1.2.0', '2.0.0'])
      assert.deepEqual(await ask('1.2.0-rc.9'), ['1.2.0', true, '1.2.0', '2.0.0'])
      assert.deepEqual(await ask('1.2.0'), ['2.0.0', false, '1.2.0', '2.0.0'])
      for (const version of ['2.0.0', '2.0.1', '99.0.0'])
        assert.deepEqual(await ask(version), [undefined, undefined, '1.2.0', '2.0.0'], version)
      for (const other of [{ platform: 'windows' }, { arch: 'arm64' }] as const)
        assert.deepEqual(await ask('1.0.0', other), [undefined, undefined, null, null])
      for (const version of ['1', '1.0.0+5', 'latest', '01.0.0'])
        await assert.rejects(ask(version), refused(400, /version/), version)
    },
  )

  await t.test(
    'a stable device is offered stable releases, a canary device both, and no device can ask for more',
    async () => {
      const own = await newTenantOf(kit)
      const [stable, canary] = [
        await enrollOnChannel(own, 'careful', 'stable'),
        await enrollOnChannel(own, 'brave', 'canary'),
      ]
      await publishRelease(own, '1.1.0')
      const { release_id } = await publishRelease(own, '1.2.0', { channel: 'canary' })
      assert.deepEqual(versionsIn(await offeredUpdates(own, stable.id)), ['1.1.0'])
      assert.deepEqual(versionsIn(await offeredUpdates(own, canary.id)), ['1.2.0'])
      assert.deepEqual(versionsIn(await offeredUpdates(own, canary.id, { channel: 'stable' })), ['1.1.0'])
      const query = { platform: 'linux', arch: 'x64', version: '1.0.0', channel: 'canary' } as const
      await assert.rejects(stable.client.updateManifest({ query }), refused(403, /not belong to the channel canary/))
      await changeRelease(own.admin, release_id, { operation: 'promote', rollout: { percent: 0, group_ids: [] } })
      assert.deepEqual(versionsIn(await offeredUpdates(own, stable.id)), ['1.1.0'], 'a promotion may begin with nobody')
      assert.deepEqual(versionsIn(await offeredUpdates(own, canary.id)), ['1.2.0'], 'and takes it from nobody')
    },
  )

  await t.test('missing parameters are taken from the device, and a parameter missing there too is named', async () => {
    const own = await newTenantOf(kit)
    const { admin } = own
    const device = await enrollOnChannel(own, 'laptop')
    const { release_id } = await draftRelease(own, '2.0.0')
    await upload(admin, release_id, Buffer.from('for a Mac'), { platform: 'macos', arch: 'universal' })
    await changeRelease(admin, release_id, { operation: 'publish' })
    const whole = { platform: 'linux', arch: 'x64', version: '1.2.3' } as const
    const byName = await device.client.updateManifest({ query: whole })
    assert.deepEqual([byName.updates.length, byName.client_version.current], [1, '1.2.3'])
    const { send } = device
    const etag = String((await send('updateManifest', {})).headers.etag)
    for (const query of [{}, { platform: 'linux' }, { version: '1.2.3' }, { arch: 'x64' }] as const) {
      assert.equal((await device.client.updateManifest({ query })).signature, byName.signature, 'the same to the byte')
      const asked = { query: { ...query, device_id: device.id } }
      assert.equal((await admin.updateManifest(asked)).signature, byName.signature)
    }
    const { query: sendQuery } = pg.Client.prototype
    const sent: string[] = []
    const { mock } = t.mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...args: unknown[]) {
      const { text = String(args[0]) } = args[0] as { text?: string }
      // The time at which a device was seen is written later, for any request.
      if (/\b(devices|releases|release_packages|signing_keys|repositories)\b/.test(text)) sent.push(text)
      return Reflect.apply(sendQuery, this, args)
    })
    for (let n = 0; n < 20; n++)
      assert.equal((await send('updateManifest', {}, { headers: { 'if-none-match': etag } })).status, 304)
    assert.deepEqual(sent, [], 'a warm read sends no SQL')
    await admin.getDevice({ params: { device_id: device.id } })
    assert.equal(sent.length > 0, true, 'the recorder sees such a statement')
    mock.restore()
    // A given value takes precedence.
    const newest = await device.client.updateManifest({ query: { version: '2.0.0' } })
    assert.deepEqual([newest.updates, newest.client_version.current], [[], '2.0.0'])
    const mac = await device.client.updateManifest({ query: { platform: 'macos' } })
    assert.deepEqual([mac.updates[0]?.platform, payloadOf(mac.signature).arch], ['macos', 'universal'])
    const none = await device.client.updateManifest({ query: { platform: 'ios' } })
    assert.deepEqual([none.updates, none.client_version.latest], [[], null])

    // With a second architecture, only the device can tell its own.
    const { release_id: next } = await draftRelease(own, '2.1.0')
    await upload(admin, next, Buffer.from('for arm64'), { arch: 'arm64' })
    await changeRelease(admin, next, { operation: 'publish' })
    await assert.rejects(device.client.updateManifest(), refused(422, /arch.*has not reported its arch.*arm64, x64/))
    await assert.rejects(admin.updateManifest({ query: { device_id: device.id } }), refused(422, /arch/))
    assert.equal((await admin.getDevice({ params: { device_id: device.id } })).arch, null)
    const renewed = async (body: { arch?: 'arm64'; client_version?: string }) =>
      void (await device.client.renewCredential({ body }))
    await renewed({ arch: 'arm64' })
    const { updates } = await device.client.updateManifest()
    assert.deepEqual(
      updates.map((u) => [u.version, u.arch]),
      [['2.1.0', 'arm64']],
    )
    const shown = await admin.getDevice({ params: { device_id: device.id } })
    assert.deepEqual([shown.arch, shown.client_version], ['arm64', '1.2.3'])
    assert.equal((await device.client.updateManifest({ query: { arch: 'x64' } })).updates[0]?.arch, 'x64')
    await renewed({ client_version: '2.1.0' })
    const after = await device.client.updateManifest()
    assert.deepEqual([after.updates, after.client_version.current], [[], '2.1.0'])
    assert.equal((await admin.getDevice({ params: { device_id: device.id } })).arch, 'arm64', 'a renewal without it')
    await renewed({ client_version: 'nightly 7' })
    await assert.rejects(device.client.updateManifest(), refused(422, /version.*nightly 7/))
    await assert.rejects(renewed({ arch: 'universal' as never }), refused(422, /arch/))

    const { secret: token } = await admin.generateToken({ body: {} })
    const told = await enrollDevice({
      baseUrl: kit.publicUrl,
      dispatcher: kit.dispatcher,
      token,
      device: { name: 'desktop', platform: 'linux', arch: 'x64' },
    })
    await assert.rejects(told.checkForUpdate(), refused(422, /version.*client_version/))
    await told.renew({ clientVersion: '2.0.0' })
    const check = await told.checkForUpdate()
    assert.deepEqual(
      [check.platform, check.arch, check.current, check.updates[0]?.version],
      [...(['linux', 'x64', '2.0.0', '2.1.0'] as const)],
    )
    const foreign = await kit.as('tenant_admin', await kit.newTenant())
    await assert.rejects(foreign.updateManifest({ query: { device_id: device.id } }), refused(404))
    await assert.rejects(admin.updateManifest(), refused(400, /device_id/))
  })
})
