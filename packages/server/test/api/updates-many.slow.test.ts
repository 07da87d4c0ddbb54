import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeId, newUuid } from '../../src/kernel/ids.ts'
import { bucketOf } from '../../src/modules/updates/delivery/offer.ts'
import { enrollOnChannel } from '../support/actors/devices.ts'
import { refused } from '../support/clients/answers.ts'
import { type Kit, startKit, times } from '../support/deployment/deployment.ts'
import {
  changeRelease,
  gather,
  linux,
  offeredUpdates,
  pieces,
  publishRelease,
  randomContent,
  upload,
} from '../support/domain/releases.ts'

test('rollout and downloads at scale', async (t) => {
  const kit = await startKit(t, { pace: { graceMs: 2000, bytesPerSecond: 5_000_000 } })
  // Three in a hundred are six standard deviations here: no run falls outside by chance.
  await t.test(
    'of ten thousand devices the set share within three percent gets the release, and a higher share only adds devices',
    () => offerByShare(kit),
  )
  await t.test('a client that does not read is cut and its file closed, and many concurrent downloads are served', () =>
    cutSlowClients(kit),
  )
})

async function offerByShare(kit: Kit): Promise<void> {
  const tenantId = encodeId('tenant', kit.tenant)
  const at = (deviceId: string) => bucketOf({ tenantId, deviceId }, '1.2.0')
  const buckets = Array.from({ length: 10_000 }, () => at(encodeId('device', newUuid())))
  const { release_id } = await publishRelease(kit, '1.2.0', { rollout: { percent: 0, group_ids: [] } })
  const share = (percent: number) => buckets.filter((bucket) => bucket < percent * 100)
  for (const percent of [5, 25, 50, 90]) {
    const got = share(percent).length / 100
    assert.ok(Math.abs(got - percent) <= 3, `${percent} % is ${got} %`)
  }
  assert.deepEqual([share(0).length, share(100).length], [0, 10_000])
  // The server's word on real devices agrees, and groups win.
  const real = await times(8, (i) => enrollOnChannel(kit, `d${i}`))
  const inside = async () => {
    const all = await Promise.all(real.map(async (d) => (await offeredUpdates(kit, d.id)).updates.length))
    return real.filter((_, i) => all[i]! > 0).map((d) => d.id)
  }
  let before: string[] = []
  for (const percent of [0, 30, 60, 100]) {
    await changeRelease(kit.admin, release_id, { operation: 'roll_out', rollout: { percent, group_ids: [] } })
    const now = await inside()
    const expected = real.filter((d) => at(d.id) < percent * 100).map((d) => d.id)
    assert.deepEqual(now, expected, `${percent} %`)
    assert.ok(before.every((id) => now.includes(id)))
    before = now
  }
  const { group } = await kit.admin.changeGroup({ body: { operation: 'create', group: { name: 'testers' } } })
  const { user } = await kit.admin.changeUser({
    body: { operation: 'create', user: { username: 'tess', group_ids: [group.group_id] } },
  })
  const rollout = { percent: 0, group_ids: [group.group_id] }
  await kit.admin.changeDevice({
    body: { operation: 'update', device_id: real[0]!.id, device: { user_id: user.user_id } },
  })
  await changeRelease(kit.admin, release_id, { operation: 'roll_out', rollout })
  assert.deepEqual(await inside(), [real[0]!.id], 'groups win')
  const unknown = { percent: 0, group_ids: [encodeId('group', newUuid())] }
  await assert.rejects(
    changeRelease(kit.admin, release_id, { operation: 'roll_out', rollout: unknown }),
    refused(422, /group/),
  )
}

async function cutSlowClients(kit: Kit): Promise<void> {
  const { release_id } = await kit.admin.createRelease({ body: { version: '1.1.0', channel: 'stable' } })
  const bytes = randomContent(16_000_000)
  const small = randomContent(100_000)
  const { package: large } = await kit.admin.uploadPackage({
    params: { release_id },
    query: { ...linux, filename: 'large' },
    body: pieces(bytes, 65_536),
  })
  const { package: other } = await upload(kit.admin, release_id, small, { filename: 'small' })
  await assert.rejects(async () => {
    let isFirst = true
    for await (const _ of await kit.admin.updatePackage({ query: { target: large.package_id } })) {
      if (isFirst) await new Promise((resolve) => setTimeout(resolve, 4500))
      isFirst = false
    }
  })
  const all = await times(40, async () =>
    gather(await kit.admin.updatePackage({ query: { target: other.package_id } })),
  )
  assert.ok(all.every((one) => one.equals(small)))
}
