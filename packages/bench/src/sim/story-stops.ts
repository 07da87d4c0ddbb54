import { isUsable, type SimDevice } from './directory.ts'
import { clock, within } from './in-parallel.ts'
import type { InForce } from './judge.ts'
import { type Scene, settle } from './scene.ts'

const gatewayDeadlineSeconds = 1

/**
 * Suspends and revokes single devices, then many at once, then whole users. Afterwards it lifts the suspensions. Each
 * device's next request must be refused, and every gateway must drop it as a peer.
 */
export async function stopSome(scene: Scene, force: InForce): Promise<void> {
  const { random, directory, admin, display } = scene
  const usable = random.some(
    directory.devices.filter((device) => isUsable(device) && device.user),
    Math.max(12, Math.ceil(directory.devices.length / 25)),
  )
  const singles = usable.slice(0, Math.min(20, Math.ceil(usable.length / 2)))
  const many = usable.slice(singles.length)
  await display.phase('revoke and suspend, one by one', singles.length, async (advance) => {
    for (const device of singles) {
      const operation = random.chance(0.5) ? 'revoke' : 'suspend'
      await stop(scene, force, [device], operation, () =>
        admin.changeDevice({ body: { operation, device_id: device.id, reason: 'sim' } }),
      )
      advance()
    }
  })
  await display.phase('revoke many at once', many.length, async (advance) => {
    await stop(scene, force, many, 'revoke', () =>
      admin.changeDevices({ body: { operation: 'revoke', device_ids: many.map(({ id }) => id), reason: 'sim' } }),
    )
    advance(many.length)
  })
  const users = random.some(
    directory.users.filter((user) => directory.devices.some((d) => d.user === user && isUsable(d))),
    2,
  )
  await display.phase('suspend users', users.length, async (advance) => {
    for (const user of users) {
      const devices = directory.devices.filter((device) => device.user === user && isUsable(device))
      await stop(scene, force, devices, 'user', () =>
        admin.changeUser({ body: { operation: 'suspend', user_id: user.id, reason: 'sim' } }),
      )
      user.suspended = true
      advance()
    }
  })
  await settle(scene, force, 'after the stops')
  await resume(scene)
  await settle(scene, force, 'after reactivation')
}

/** `user`: the devices stop because their user is suspended. */
async function stop(
  scene: Scene,
  force: InForce,
  devices: SimDevice[],
  operation: 'revoke' | 'suspend' | 'user',
  order: () => Promise<unknown>,
): Promise<void> {
  const { fleet, leaving, complaints, measures, judge } = scene
  if (devices.length === 0) return
  const wanted = judge.peers(force)
  const waiting = new Set(
    devices.flatMap(({ id }) =>
      wanted.filter(({ peers }) => peers.some(([peer]) => peer === id)).map(({ gatewayId }) => `${gatewayId} ${id}`),
    ),
  )
  for (const { index } of devices) leaving.add(index)
  const gone = awaitGone(scene, waiting)
  await order()
  const acknowledged = clock()
  const answers = await fleet.ask(devices.map(({ index }) => index))
  for (const { index, status, at } of answers) {
    if (status === 401) measures.refused.push(at - acknowledged)
    else complaints.mismatch(`device ${index} after ${operation}: expected 401, got ${status}`)
  }
  for (const device of devices)
    if (operation !== 'user') device.status = operation === 'revoke' ? 'revoked' : 'suspended'
  const last = await gone
  if (last === undefined) {
    for (const left of waiting)
      complaints.mismatch(`${left}: still a peer ${gatewayDeadlineSeconds} s after ${operation}`)
    return
  }
  if (last > 0) measures.lost.push(Math.max(0, last - acknowledged))
  if (last - acknowledged > gatewayDeadlineSeconds * 1000)
    complaints.mismatch(
      `gateways let go ${((last - acknowledged) / 1000).toFixed(1)} s after ${operation}, expected ${gatewayDeadlineSeconds} s`,
    )
}

/**
 * Waits until the last of these peers is gone from its gateway. Returns that time, or undefined after 10 s. Empties
 * `waiting`.
 */
async function awaitGone({ onGateways }: Scene, waiting: Set<string>): Promise<number | undefined> {
  if (waiting.size === 0) return 0
  let unlisten = () => {}
  const all = new Promise<number>((resolve) => {
    unlisten = onGateways((event) => {
      if (event.kind !== 'gone') return
      for (const id of event.deviceIds) waiting.delete(`${event.gatewayId} ${id}`)
      if (waiting.size === 0) resolve(event.at)
    })
  })
  const last = await within(10, all)
  unlisten()
  return last
}

async function resume(scene: Scene): Promise<void> {
  const { directory, admin, fleet, display, complaints, leaving } = scene
  const suspended = directory.devices.filter(({ status }) => status === 'suspended')
  const users = directory.users.filter((user) => user.suspended)
  await display.phase('reactivate', suspended.length + users.length, async (advance) => {
    for (const device of suspended) {
      await admin.changeDevice({ body: { operation: 'reactivate', device_id: device.id } })
      device.status = 'active'
      advance()
    }
    for (const user of users) {
      await admin.changeUser({ body: { operation: 'reactivate', user_id: user.id } })
      user.suspended = false
      advance()
    }
  })
  const back = directory.devices
    .filter((device) => leaving.has(device.index) && isUsable(device))
    .map(({ index }) => index)
  for (const { index, status } of await fleet.ask(back))
    if (status !== 200) complaints.mismatch(`device ${index} after reactivation: expected 200, got ${status}`)
  await fleet.stopPolling(back)
  for (const index of back) leaving.delete(index)
  await fleet.startPolling(back)
  for (const device of directory.devices.filter(({ status }) => status === 'suspended'))
    complaints.mismatch(`${device.name}: still suspended`)
}
