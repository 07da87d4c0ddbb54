import { type Client, changeSecuritySettings, createAdmin, signIn } from '@holdfast/sdk'
import { unlimited } from '../deployment/unlimited.ts'
import { adminPassword, type Served } from './deployment.ts'
import { type Directory, planFacts, type SimDevice } from './directory.ts'
import type { Display } from './display.ts'
import type { Fleet } from './fleet.ts'
import { inParallel } from './in-parallel.ts'
import type { Random } from './random.ts'

const width = 16
/** Concurrent user creations. Writes that add members to the same group wait for each other. */
const usersWidth = 6

/** Creates an API key of a platform administrator by an ordinary sign-in. The API rate limit is lifted first. */
export async function makeApiKey({ url }: Served): Promise<string> {
  const { client } = await signIn({ baseUrl: url, username: 'admin', password: adminPassword })
  await changeSecuritySettings(client, { api: unlimited })
  const { secret } = await client.createApiKey({ body: { name: 'sim', role: 'platform_admin' } })
  return secret
}

export const openAdmin = (baseUrl: string, apiKey: string): Client =>
  createAdmin({ baseUrl, apiKey, headers: { 'user-agent': 'holdfast-sim' } })

export async function createGroups(admin: Client, { groups }: Directory): Promise<void> {
  for (const group of groups) {
    const made = await admin.changeGroup({ body: { operation: 'create', group: { name: group.name } } })
    group.id = made.group.group_id
  }
}

export const createUsers = (admin: Client, { users, groups }: Directory, advance: () => void): Promise<void> =>
  inParallel(users, usersWidth, async (user) => {
    const group_ids = groups.filter(({ name }) => user.groups.has(name)).map(({ id }) => id)
    const { username, email } = user
    const made = await admin.changeUser({ body: { operation: 'create', user: { username, email, group_ids } } })
    user.id = made.user.user_id
    advance()
  })

export async function createGateways(admin: Client, { pools, gateways }: Directory): Promise<void> {
  for (const pool of pools) {
    const made = await admin.createGatewayPool({ body: { name: pool.name, region: { code: pool.name } } })
    pool.id = made.pool_id
  }
  await inParallel(gateways, 4, async (gateway) => {
    const body = {
      name: gateway.name,
      endpoints: [{ host: `${gateway.name}.vpn.example`, port: 51_820, proto: 'udp' as const }],
    }
    const made = await admin.createGateway({ params: { pool_id: gateway.pool.id }, body })
    gateway.id = made.gateway.gateway_id
    gateway.secret = made.secret
  })
}

/** The number of tokens that `createTokens` makes. */
export const countTokens = ({ devices, crews }: Directory): number =>
  new Set(devices.flatMap(({ user }) => user ?? [])).size + crews.length

/**
 * Creates one token per user, for its devices, and one per crew, for all of its devices. Returns the token of each
 * device.
 */
export async function createTokens(
  admin: Client,
  directory: Directory,
  advance: () => void,
): Promise<Map<SimDevice, string>> {
  const tokens = new Map<SimDevice, string>()
  const owned = Map.groupBy(
    directory.devices.filter(({ user }) => user),
    ({ user }) => user,
  )
  await inParallel(owned, width, async ([user, devices]) => {
    if (!user) return
    const body = { name: user.username, user_id: user.id, max_uses: devices.length, tags: user.tags }
    const { secret: token } = await admin.generateToken({ body })
    for (const device of devices) tokens.set(device, token)
    advance()
  })
  for (const { name, tags, groups, devices } of directory.crews) {
    const group_ids = directory.groups.filter((group) => groups.includes(group.name)).map(({ id }) => id)
    const { secret: token } = await admin.generateToken({ body: { name, max_uses: 0, tags, group_ids } })
    for (const device of devices) tokens.set(device, token)
    advance()
  }
  return tokens
}

/** Creates everything that was planned: groups, users, gateways and devices. Each device reports its posture. */
export async function createAll({
  url,
  admin,
  directory,
  fleet,
  display,
  random,
}: {
  url: string
  admin: Client
  directory: Directory
  fleet: Fleet
  display: Display
  random: Random
}): Promise<void> {
  await createGroups(admin, directory)
  await createGateways(admin, directory)
  await createUsers(admin, directory, () => {})
  const tokens = await createTokens(admin, directory, () => {})
  const jobs = [...tokens].map(([device, token]) => ({ device, token }))
  await display.phase('enroll', jobs.length, async (advance) => {
    const { enrolled } = await fleet.enroll(url, jobs, advance)
    for (const { index, id } of enrolled) Object.assign(directory.devices[index] ?? {}, { id })
  })
  for (const device of directory.devices) device.facts = planFacts(random, Date.now())
  await fleet.reportPosture(
    directory.devices.map(({ index, facts }) => [index, facts ?? {}]),
    () => {},
  )
}
