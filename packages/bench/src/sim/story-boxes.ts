import type { PolicyDocument } from '@holdfast/contract/policy-document'
import { firstDifference } from './boxes.ts'
import type { Directory, SimDevice } from './directory.ts'
import { stableDocument } from './documents.ts'
import type { InForce } from './judge.ts'
import { expectPeers, heldRules } from './oracle.ts'
import { type Found, type Reach, reachAt, type Seen } from './reach.ts'
import { type Scene, settle, startPolling } from './scene.ts'

/** Times of the current day in UTC: at night, and around the edges of the policy's time windows. */
const times = ['00:30', '05:59', '08:00', '13:45', '21:10']
/** Seconds since the last proof of a second factor: recent enough for every rule, for one rule, for none. */
const sinceProof = [200, 2_000, 4_000]

function momentsOf({ users }: Directory, now: number): { name: string; at: number }[] {
  const today = new Date(now).toISOString().slice(0, 10)
  const proved = users.reduce((last, { provedFactor }) => Math.max(last, provedFactor?.to ?? 0), 0)
  return [
    ...times.map((name) => ({ name, at: Date.parse(`${today}T${name}:00Z`) })),
    ...sinceProof.map((seconds) => ({ name: `${seconds} s after a proof`, at: proved + seconds * 1000 })),
  ]
}

/** Allowance for the difference between the database's clock and ours. */
const clockSlackMs = 1_000

/** Origins of the connections, assigned in turn. The last origin is unknown. */
const places: Pick<Seen, 'source_ip' | 'country'>[] = [
  { source_ip: '192.0.2.7', country: 'DE' },
  { source_ip: '198.51.100.7', country: 'US' },
  { source_ip: '2001:db8::7', country: 'FR' },
  {},
]
const placeOf = ({ index }: SimDevice) => places[index % places.length] ?? {}

/**
 * Lookups of the gateways: every DNS name of the policy, one name below each wildcard, and the networks of its
 * services.
 */
function resolve({ resources = {} }: PolicyDocument): Found {
  const asked = Object.values(resources).flatMap(({ dns = [] }) => dns.map((name) => name.replace('*', 'any.thing')))
  // Two names share an address, as they do behind one proxy.
  const names = asked.map((name, i) => [name, [`10.240.0.${i >> 1}`, `fd00:240::${(i + 1).toString(16)}`]] as const)
  const running = [...new Set(Object.values(resources).flatMap(({ services = [] }) => services))]
  const services = running.map((name, i) => [name, [`10.241.${i}.0/28`, `fd00:241:${i}::/64`]] as const)
  return { names: new Map(names), services: new Map(services) }
}

/**
 * Compares each gateway's boxes for each of its peers with the document: at five times of a day, and as second factors
 * age.
 */
export async function compareBoxes(scene: Scene, { stable }: InForce): Promise<number> {
  const { directory, gateways, complaints, display } = scene
  const found = resolve(stable)
  const connections = new Map(directory.devices.map((device) => [device.id, placeOf(device)]))
  const byId = new Map(directory.devices.map((device) => [device.id, device]))
  const now = Date.now()
  const rules = new Map(directory.devices.map((d) => [d.id, heldRules(stable, directory, d, now)]))
  const peersOf = new Map<string, ReadonlySet<string>>()
  for (const gateway of directory.gateways)
    if (!peersOf.has(gateway.pool.name)) {
      const peers = expectPeers(() => stable, directory, gateway, now)
      peersOf.set(gateway.pool.name, new Set(peers.map(({ id }) => id)))
    }
  const compare = createComparison(stable, found)
  const moments = momentsOf(directory, now)
  let compared = 0
  await display.phase(
    'boxes of every peer at every gateway',
    moments.length * directory.gateways.length,
    async (advance) => {
      for (const { name, at } of moments)
        for (const { id: gatewayId, pool } of directory.gateways) {
          const { lists, peers, differences } = await gateways.call('flatten', { gatewayId, at, found, connections })
          for (const text of differences) complaints.mismatch(text)
          const wanted = new Set(peersOf.get(pool.name))
          for (const [deviceId, list, mfa_at] of peers) {
            if (!wanted.delete(deviceId)) complaints.mismatch(`${gatewayId}: ${deviceId} should have no boxes`)
            const device = byId.get(deviceId)
            if (device && !isProved(device, mfa_at))
              complaints.mismatch(`${gatewayId}: ${deviceId}: mfa_at is ${mfa_at}`)
            const seen = { at, mfa_at, ...(device && placeOf(device)) }
            const reach = reachAt(stable, rules.get(deviceId) ?? [], pool.name, seen)
            const difference = compare(reach, JSON.stringify(lists[list]))
            if (difference) complaints.mismatch(`${gatewayId}: ${deviceId} at ${name}: ${difference}`)
            compared++
          }
          for (const deviceId of wanted) complaints.mismatch(`${gatewayId}: no boxes for ${deviceId}`)
          advance()
        }
    },
  )
  return compared
}

/** True if the gateway's time of the user's second factor matches the proof, or if both are missing. */
function isProved({ user }: SimDevice, mfaAt: number | undefined): boolean {
  const proved = user?.provedFactor
  if (!proved || mfaAt === undefined) return !proved && mfaAt === undefined
  return proved.from - clockSlackMs <= mfaAt && mfaAt <= proved.to + clockSlackMs
}

/**
 * Publishes a policy for an enrolled fleet and checks the gateways' boxes. Then all devices poll, and must hold it too.
 */
export async function onlyBoxes(scene: Scene): Promise<number> {
  const { admin, random, directory, gateways, display, complaints } = scene
  const stable = stableDocument(random, directory)
  await display.phase('stable: publish', 0, () =>
    admin.publishPolicy({ body: { channel: 'stable', policy: stable, note: 'sim' } }),
  )
  const now = Date.now()
  await display.phase('stable: gateways follow', directory.gateways.length, async (advance) => {
    for (const gateway of directory.gateways) {
      const { length } = expectPeers(() => stable, directory, gateway, now)
      if (!(await gateways.call('awaitCount', { gatewayId: gateway.id, peers: length, seconds: 60 })))
        complaints.mismatch(`${gateway.id}: does not have ${length} peers after a minute`)
      advance()
    }
  })
  const force = { stable, canary: undefined }
  const compared = await compareBoxes(scene, force)
  display.line(`  ${compared} peers compared, ${complaints.mismatches} mismatches`)
  await startPolling(scene)
  await settle(scene, force, 'stable')
  return compared
}

/** Most peers have the same rules and boxes: each combination is compared once. */
function createComparison(document: PolicyDocument, found: Found) {
  const numbers = new Map<string, number>()
  const numberOf = (text: string): number => {
    const known = numbers.get(text) ?? numbers.size
    numbers.set(text, known)
    return known
  }
  const known = new Map<string, string | undefined>()
  return (reach: Reach, boxes: string): string | undefined => {
    const meaning = reach.map(({ rule, to }) => `${rule.id} ${to.join(' ')}`).join('\n')
    const key = `${numberOf(meaning)} ${numberOf(boxes)}`
    if (!known.has(key)) known.set(key, firstDifference(document, found, reach, JSON.parse(boxes)))
    return known.get(key)
  }
}
