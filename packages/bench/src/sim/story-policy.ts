import type { PolicyDocument } from '@holdfast/contract/policy-document'
import { groupsOf, isUsable, planFacts } from './directory.ts'
import { canaryDocument, revisedDocument, stableDocument } from './documents.ts'
import { clock, inParallel } from './in-parallel.ts'
import type { InForce } from './judge.ts'
import { type Scene, settle } from './scene.ts'

const canaryPercent = 10
const canaryGroup = 'design'

/** Publishes and measures how long each device needs that gets something else by it. */
async function publish(
  scene: Scene,
  body: Parameters<Scene['admin']['publishPolicy']>[0]['body'],
  force: InForce,
  name: string,
) {
  const { admin, fleet, measures, display } = scene
  const before = digests(scene)
  const started = clock()
  const published = await display.phase(`${name}: publish`, 0, () => admin.publishPolicy({ body }))
  measures.publish.push(clock() - started)
  await settle(scene, force, name)
  const changed = new Set<number>()
  for (const [index, { digest, at }] of fleet.held) {
    if (digest === before.get(index)) continue
    changed.add(index)
    measures.applied.push(at - started)
  }
  return { published, changed }
}

const digests = ({ fleet }: Scene) => new Map([...fleet.held].map(([index, { digest }]) => [index, digest]))

export async function publishStable(scene: Scene): Promise<PolicyDocument> {
  const document = stableDocument(scene.random, scene.directory)
  const { complaints, directory } = scene
  const { published } = await publish(
    scene,
    { channel: 'stable', policy: document, note: 'sim' },
    { stable: document, canary: undefined },
    'stable v1',
  )
  const { tests, adoption } = published
  if (tests.failed > 0 || tests.passed !== document.tests?.length)
    complaints.mismatch(
      `publish: expected ${document.tests?.length} passed tests, got ${tests.passed} and ${tests.failed} failed`,
    )
  if (adoption.applied + adoption.pending > directory.devices.length)
    complaints.mismatch(
      `publish: adoption counts ${adoption.applied} + ${adoption.pending} of ${directory.devices.length} devices`,
    )
  return document
}

/**
 * Publishes a canary for a share of the fleet, one group, and the devices set to `canary`; devices set to `stable`
 * never get it.
 */
export async function publishCanary(scene: Scene, stable: PolicyDocument): Promise<void> {
  const { admin, directory, random, judge, complaints } = scene
  for (const device of random.some(directory.devices, 6)) {
    device.channel = random.chance(0.5) ? 'canary' : 'stable'
    await admin.changeDevice({
      body: { operation: 'update', device_id: device.id, device: { channel: device.channel } },
    })
  }
  const document = canaryDocument(stable)
  const group = directory.groups.find(({ name }) => name === canaryGroup)
  const force: InForce = {
    stable,
    canary: {
      document,
      must: (device) => device.channel === 'canary' || (device.channel === 'auto' && groupsOf(device).has(canaryGroup)),
      share: canaryPercent / 100,
    },
  }
  const rollout = { percent: canaryPercent, group_ids: group ? [group.id] : [] }
  await publish(scene, { channel: 'canary', policy: document, rollout }, force, 'canary')

  const { must = () => false } = force.canary ?? {}
  const byShare = directory.devices.filter((device) => device.channel === 'auto' && !must(device))
  const taken = byShare.filter(judge.isOnCanary).length
  const mean = (byShare.length * canaryPercent) / 100
  if (Math.abs(taken - mean) > 5 * Math.sqrt(mean) + 1)
    complaints.mismatch(
      `canary: expected about ${mean.toFixed(0)} of ${byShare.length} devices by percentage, got ${taken}`,
    )
  for (const device of directory.devices)
    if (device.channel === 'stable' && judge.isOnCanary(device))
      complaints.mismatch(`${device.name}: expected stable, got canary`)
  await compareDirectory(scene)
  await withdraw(scene, stable)
}

/** The administrator's list must show the channel and the digest that each device has. */
async function compareDirectory({ admin, directory, fleet, judge, complaints, display }: Scene): Promise<void> {
  const byId = new Map(directory.devices.map((device) => [device.id, device]))
  await display.phase('canary: the console agrees', directory.devices.length, async (advance) => {
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: Awaited<ReturnType<typeof admin.listDevices>> = await admin.listDevices({
        query: { limit: 200, ...(cursor && { cursor }) },
      })
      for (const seen of page.items) {
        const device = byId.get(seen.device_id)
        if (!device) continue
        const channel = judge.isOnCanary(device) ? 'canary' : 'stable'
        const digest = fleet.held.get(device.index)?.digest
        if (seen.effective_channel !== channel)
          complaints.mismatch(`${device.name}: expected channel ${channel}, got ${seen.effective_channel}`)
        if (seen.policy.digest !== digest)
          complaints.mismatch(`${device.name}: holds ${digest}, the console says ${seen.policy.digest}`)
        byId.delete(seen.device_id)
        advance()
      }
      cursor = page.next_cursor
    }
  })
  for (const device of byId.values()) complaints.mismatch(`${device.name} ${device.id}: not in the list of devices`)
}

/** Publishes the old content as a newer version: devices on the canary return to it, and no other device changes. */
async function withdraw(scene: Scene, stable: PolicyDocument): Promise<void> {
  const { directory, judge, complaints } = scene
  const before = new Set(directory.devices.filter(judge.isOnCanary).map(({ index }) => index))
  const { changed } = await publish(
    scene,
    { channel: 'stable', from: { channel: 'stable' }, supersede: true },
    { stable, canary: undefined },
    'canary withdrawn',
  )
  compareSets(complaints.mismatch, 'withdrawal', before, changed)
}

/** Changes the rule of one group: only the digests of that group's devices change. */
export async function publishRevision(scene: Scene, stable: PolicyDocument): Promise<PolicyDocument> {
  const { directory, random, judge, complaints } = scene
  const group = random.pick(directory.groups.filter(({ name }) => name !== 'legal')).name
  const document = revisedDocument(stable, group)
  const members = new Set(
    directory.devices.filter((device) => isUsable(device) && groupsOf(device).has(group)).map(({ index }) => index),
  )
  const before = judge.keys({ stable, canary: undefined })
  const after = judge.keys({ stable: document, canary: undefined })
  const expected = new Set([...after].filter(([index, key]) => before.get(index) !== key).map(([index]) => index))
  const { changed } = await publish(
    scene,
    { channel: 'stable', policy: document },
    { stable: document, canary: undefined },
    `stable v2 (${group})`,
  )
  compareSets(complaints.mismatch, `members of ${group} and the meaning`, members, expected)
  compareSets(complaints.mismatch, `members of ${group} and changed digests`, members, changed)
  return document
}

function compareSets(complain: (text: string) => void, what: string, expected: Set<number>, got: Set<number>): void {
  for (const index of expected.difference(got)) complain(`${what}: device ${index} expected to change, did not`)
  for (const index of got.difference(expected)) complain(`${what}: device ${index} changed, not expected to`)
}

export async function changePosture(scene: Scene, force: InForce): Promise<void> {
  const { random, directory, fleet, display } = scene
  const some = random.some(directory.devices.filter(isUsable), Math.ceil(directory.devices.length / 10))
  for (const device of some) device.facts = planFacts(random, Date.now())
  await display.phase('posture changes: report', some.length, (advance) =>
    fleet.reportPosture(
      some.map(({ index, facts }) => [index, facts ?? {}]),
      advance,
    ),
  )
  await settle(scene, force, 'posture changes')
}

export async function changeMembers(scene: Scene, force: InForce): Promise<void> {
  const { random, directory, admin, display } = scene
  const { groups, users } = directory
  const some = random.some(users, Math.max(3, Math.ceil(users.length / 20)))
  await display.phase('membership changes', some.length + 1, async (advance) => {
    await inParallel(some, 8, async (user) => {
      const next = random.some(groups, random.between(0, 3))
      user.groups = new Set(next.map(({ name }) => name))
      await admin.changeUser({
        body: { operation: 'update', user_id: user.id, user: { group_ids: next.map(({ id }) => id) } },
      })
      advance()
    })
    const group = random.pick(groups)
    const [joining, leaving] = [
      users.filter((u) => !u.groups.has(group.name)).slice(0, 3),
      users.filter((u) => u.groups.has(group.name)).slice(0, 3),
    ]
    const body = { add_members: joining.map(({ id }) => id), remove_members: leaving.map(({ id }) => id) }
    await admin.changeGroup({ body: { operation: 'update', group_id: group.id, group: body } })
    for (const user of joining) user.groups.add(group.name)
    for (const user of leaving) user.groups.delete(group.name)
    advance()
  })
  await settle(scene, force, 'membership changes')
}
