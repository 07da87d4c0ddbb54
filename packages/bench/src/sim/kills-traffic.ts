import { setTimeout as delay } from 'node:timers/promises'
import type { PolicyDocument } from '@holdfast/contract/policy-document'
import { type Client, createSender } from '@holdfast/sdk'
import type { Directory, SimCrew, SimDevice } from './directory.ts'
import { revisedDocument } from './documents.ts'
import type { Fleet } from './fleet.ts'
import type { Ledger } from './ledger.ts'
import type { Random } from './random.ts'

type Traffic = {
  url: string
  apiKey: string
  admin: Client
  ledger: Ledger
  directory: Directory
  fleet: Fleet
  random: Random
  /** A crew whose token has no limit of uses. */
  crew: SimCrew
  token: string
  stable: PolicyDocument
  leaving: Set<number>
  /** Settles while the server is up, or when the traffic is to end. */
  up: () => Promise<void>
  isOver: () => boolean
}

const keyCallers = 4

/** Each document that was sent, by the note that it was sent with. */
export type Published = Map<string, PolicyDocument>

/** Enrolls, publishes, revokes and reads by API key concurrently until it is over. */
export async function runTraffic(traffic: Traffic, published: Published): Promise<void> {
  const fresh: SimDevice[] = []
  await Promise.all([
    repeat(traffic, () => enrollOne(traffic, fresh)),
    repeat(traffic, () => publishOne(traffic, published)),
    repeat(traffic, () => revokeOne(traffic, fresh)),
    ...Array.from({ length: keyCallers }, (_, n) => repeat(traffic, keyCaller(traffic, n))),
  ])
}

async function repeat({ up, isOver, random }: Traffic, work: () => Promise<unknown>): Promise<void> {
  while (!isOver()) {
    await up()
    if (isOver()) return
    await work()
    // Paces the traffic: each round is another instant for a kill to fall into.
    await delay(random.between(1, 40))
  }
}

async function enrollOne(
  { url, ledger, directory, fleet, random, crew, token }: Traffic,
  fresh: SimDevice[],
): Promise<void> {
  const index = directory.devices.length
  const device: SimDevice = {
    index,
    id: '',
    name: `late-${String(index).padStart(5, '0')}`,
    platform: 'linux',
    // The highest bit of a public key of Curve25519 is zero.
    wireguardKey: Buffer.from(Array.from({ length: 32 }, (_, i) => random.between(0, i === 31 ? 127 : 255))).toString(
      'base64',
    ),
    user: null,
    groups: crew.groups,
    tags: crew.tags,
    facts: null,
    // Counts as a device of ours once its enrollment was acknowledged.
    status: 'revoked',
    channel: 'auto',
  }
  directory.devices.push(device)
  const { enrolled } = await fleet.enroll(url, [{ device, token }], () => {})
  const id = enrolled[0]?.id
  ledger.note({ kind: 'enrollment', marker: device.name, proof: id })
  if (id === undefined) return
  device.id = id
  device.status = 'active'
  fresh.push(device)
  await fleet.startPolling([index])
}

async function publishOne({ admin, ledger, random, stable, directory }: Traffic, published: Published): Promise<void> {
  const group = random.pick(directory.groups.filter(({ name }) => name !== 'legal')).name
  const note = `kill ${published.size}`
  const policy = revisedDocument(stable, group)
  published.set(note, policy)
  await ledger.run('publish', note, async () => {
    const { bundle_id } = await admin.publishPolicy({ body: { channel: 'stable', policy, note } })
    return bundle_id
  })
}

/** Revokes every second device that just enrolled. A device whose revocation is unknown is not used any more. */
async function revokeOne({ admin, ledger, leaving }: Traffic, fresh: SimDevice[]): Promise<void> {
  const device = fresh.length > 1 ? fresh.shift() : undefined
  if (!device) return
  fresh.shift()
  device.status = 'revoked'
  leaving.add(device.index)
  await ledger.run('revocation', device.id, async () => {
    const answer = await admin.changeDevice({ body: { operation: 'revoke', device_id: device.id, reason: 'sim' } })
    return answer.device.device_id
  })
}

/** Each request has its own user agent, by which it must appear in the audit log. */
function keyCaller({ url, apiKey, ledger }: Traffic, caller: number): () => Promise<void> {
  const send = createSender({ baseUrl: url, credential: apiKey })
  let count = 0
  return async () => {
    const marker = `holdfast-sim/key-${caller}-${++count}`
    await ledger.run('API key use', marker, async () => {
      const { headers } = await send('me', {}, { headers: { 'user-agent': marker } })
      const id = headers['x-request-id']
      if (typeof id !== 'string') throw new Error('an answer without X-Request-Id')
      return id
    })
  }
}
