import type { Random } from './random.ts'

type Fact = string | number | boolean
export type Facts = Record<string, Fact>
export type Platform = 'linux' | 'macos' | 'windows' | 'ios' | 'android'
type SimGroup = { name: string; id: string }
export type SimUser = {
  username: string
  email: string
  id: string
  groups: Set<string>
  suspended: boolean
  tags: string[]
  /** Time of the last proof of a second factor, which lies between these two. */
  provedFactor: { from: number; to: number } | null
}
export type SimDevice = {
  index: number
  id: string
  name: string
  platform: Platform
  wireguardKey: string
  user: SimUser | null
  /** Names of the groups that its enrollment token assigns. */
  groups: string[]
  tags: string[]
  /** The last posture report; null if it has never reported. */
  facts: Facts | null
  status: 'active' | 'suspended' | 'revoked'
  channel: 'auto' | 'canary' | 'stable'
}
type SimPool = { name: string; id: string }
export type SimGateway = { name: string; id: string; secret: string; pool: SimPool }
/** Devices without a user that share one token. */
export type SimCrew = { name: string; groups: string[]; tags: string[]; devices: SimDevice[] }

/** The objects that the simulator plans and creates; the server's ids are filled in as they arrive. */
export type Directory = {
  groups: SimGroup[]
  users: SimUser[]
  crews: SimCrew[]
  devices: SimDevice[]
  pools: SimPool[]
  gateways: SimGateway[]
}

export const groupNames = [
  'engineering',
  'platform',
  'data',
  'security',
  'finance',
  'legal',
  'sales',
  'support',
  'design',
  'people',
  'operations',
  'contractors',
] as const
export const poolNames = ['north', 'south', 'edge'] as const
const platforms = ['linux', 'macos', 'windows', 'ios', 'android'] as const

/** Plans two devices per user. One device in ten has no user and belongs to a crew (kiosks, build machines). */
export function planDirectory(random: Random, { devices, gateways }: { devices: number; gateways: number }): Directory {
  const pools = poolNames.map((name) => ({ name, id: '' }))
  const users = Array.from({ length: Math.max(12, Math.ceil(devices / 2)) }, (_, i) => planUser(random, i))
  const crews: SimCrew[] = [
    { name: 'kiosks', groups: [], tags: ['kiosk'], devices: [] },
    { name: 'builders', groups: ['engineering', 'platform'], tags: ['server', 'headless'], devices: [] },
    { name: 'probes', groups: ['operations'], tags: ['server', 'quarantine'], devices: [] },
  ]
  const fleet = Array.from({ length: devices }, (_, index): SimDevice => {
    const crew = index % 10 === 9 ? random.pick(crews) : null
    const user = crew ? null : (users[index % users.length] ?? null)
    const device: SimDevice = {
      index,
      id: '',
      name: `device-${String(index).padStart(5, '0')}`,
      platform: random.pick(platforms),
      // The highest bit of a public key of Curve25519 is zero.
      wireguardKey: Buffer.from(Array.from({ length: 32 }, (_, i) => random.between(0, i === 31 ? 127 : 255))).toString(
        'base64',
      ),
      user,
      groups: crew?.groups ?? [],
      tags: crew?.tags ?? user?.tags ?? [],
      facts: null,
      status: 'active',
      channel: 'auto',
    }
    crew?.devices.push(device)
    return device
  })
  return {
    groups: groupNames.map((name) => ({ name, id: '' })),
    users,
    crews,
    devices: fleet,
    pools,
    gateways: Array.from({ length: gateways }, (_, i) => ({
      name: `gateway-${String(i).padStart(2, '0')}`,
      id: '',
      secret: '',
      pool: pools[i % pools.length] ?? { name: '', id: '' },
    })),
  }
}

function planUser(random: Random, index: number): SimUser {
  const username = `user-${String(index).padStart(5, '0')}`
  // The first twelve users make sure that no group is empty.
  const first = groupNames[index] ?? random.pick(groupNames)
  return {
    username,
    email: `${username}@corp.example`,
    id: '',
    groups: new Set([first, ...random.some(groupNames, random.between(0, 2))]),
    suspended: false,
    provedFactor: null,
    tags: [...(random.chance(0.15) ? ['byod'] : []), ...(random.chance(0.05) ? ['quarantine'] : [])],
  }
}

/** The posture facts of a device. A fact is sometimes missing, as with an old client. */
export function planFacts(random: Random, now: number): Facts {
  const hoursAgo = random.chance(0.8) ? random.between(1, 12) : random.between(48, 200)
  const facts: Facts = {
    'os.version': random.pick(['13.6', '14.2', '14.10', '15.0.1']),
    'disk.encrypted': random.chance(0.85),
    'firewall.enabled': random.chance(0.7),
    'av.updated_at': new Date(now - hoursAgo * 3_600_000).toISOString(),
    'custom.exempt': random.chance(0.2),
  }
  for (const name of Object.keys(facts)) if (random.chance(0.05)) delete facts[name]
  return facts
}

/** Names of all groups of a device: its own and its user's. */
export const groupsOf = (device: SimDevice): Set<string> => new Set([...device.groups, ...(device.user?.groups ?? [])])

export const isUsable = (device: SimDevice): boolean => device.status === 'active' && !device.user?.suspended
