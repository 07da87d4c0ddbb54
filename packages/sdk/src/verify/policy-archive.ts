import { reject } from '../errors.ts'
import type { GatewayStore } from '../gateway/store.ts'
import { countOf, isObject, textsOf, timeOf } from './signed.ts'

/** Content of the archive: a signed snapshot and the deltas after it, and the resulting state's number. */
type Head = { generation: number; deltas: number; chunks: string[]; seq: number; generatedAt: string; savedAt: string }
export type Archived = {
  /** The snapshot, then its deltas. */
  policies: string[]
  seq: number
  generatedAt: Date
  chunk: (digest: string) => Promise<unknown>
}
type Kept = { jws: string; kind: 'snapshot' | 'delta'; chunks: string[]; seq: number; generatedAt: Date }

const schema = 'holdfast.gateway-archive/1'
/** Limit of deltas. Up to it, reading them again costs less than fetching a snapshot. */
const mostDeltas = 256
/** Shortest interval in ms between two snapshots that are requested only for a new archive. */
const restEvery = 60_000
/** Tolerated correction of the clock in ms. A clock set back further could keep a policy in force forever. */
const clockToleranceMs = 60_000

const snapshotName = (generation: number) => `policy-${generation}`
const deltaName = (generation: number, n: number) => `policy-${generation}-${n}`
const chunkName = (digest: string) => `chunk-${digest.replaceAll(/[^a-z0-9]/g, '-')}`

/** Stores the signed gateway policy, for a start during an outage of the control plane. */
export function createArchive({
  store,
  tenantId,
  gatewayId,
  now,
}: {
  store: GatewayStore
  tenantId: string
  gatewayId: string
  now: () => Date
}) {
  let head: Head | undefined
  let isBroken = false
  let restedAt = Number.NEGATIVE_INFINITY

  async function saveHead(next: Head): Promise<void> {
    const text = { schema, tenant_id: tenantId, gateway_id: gatewayId, ...next }
    await store.save('policy', JSON.stringify(text))
    head = next
  }

  /** Removes files that the head does not name, also leftovers of a crash. */
  async function sweep({ generation, deltas, chunks }: Head): Promise<void> {
    const named = new Set(['policy', snapshotName(generation), ...chunks.map(chunkName)])
    for (let n = 1; n <= deltas; n++) named.add(deltaName(generation, n))
    const isOurs = (name: string) => /^(policy|chunk)-/.test(name)
    for (const name of await store.list()) if (isOurs(name) && !named.has(name)) await store.save(name, null)
  }

  async function add({ jws, kind, chunks, seq, generatedAt }: Kept): Promise<void> {
    const as = { seq, generatedAt: generatedAt.toISOString(), savedAt: now().toISOString() }
    if (kind === 'snapshot') {
      const generation = (head?.generation ?? 0) + 1
      await store.save(snapshotName(generation), jws)
      await saveHead({ ...as, generation, deltas: 0, chunks })
      if (head) await sweep(head)
    } else if (head && !isBroken) {
      const deltas = head.deltas + 1
      await store.save(deltaName(head.generation, deltas), jws)
      await saveHead({ ...head, ...as, deltas })
    }
  }

  return {
    /** True if the next pull should get a snapshot to start a new archive; at most once a minute. */
    takeRest: (): boolean => {
      const isDue = isBroken || (head !== undefined && head.deltas >= mostDeltas)
      if (!isDue || performance.now() - restedAt < restEvery) return false
      restedAt = performance.now()
      return true
    },
    keepChunk: (digest: string, body: unknown): Promise<void> => store.save(chunkName(digest), JSON.stringify(body)),
    /** Rejects if the store fails; then nothing is stored until the next snapshot. */
    keep: async (policy: Kept): Promise<void> => {
      try {
        await add(policy)
        if (policy.kind === 'snapshot') isBroken = false
      } catch (e) {
        isBroken = true
        throw e
      }
    },
    /**
     * Returns the stored policy, undefined if there is none. Throws `VerificationError`: `malformed`, `wrong_tenant`,
     * `wrong_gateway`, `not_yet_valid` if the clock is behind the time of storage.
     */
    read: async (): Promise<Archived | undefined> => {
      const text = await store.load('policy')
      if (text === undefined) return undefined
      const said = objectOf(text)
      if (said.tenant_id !== tenantId) reject('wrong_tenant', 'the stored state belongs to another tenant')
      if (said.gateway_id !== gatewayId) reject('wrong_gateway', 'the stored state belongs to another gateway')
      const found: Head = {
        generation: countOf(said.generation, 'generation'),
        deltas: countOf(said.deltas, 'deltas'),
        chunks: textsOf(said.chunks, 'chunks'),
        seq: countOf(said.seq, 'seq'),
        generatedAt: timeOf(said.generatedAt, 'generatedAt').toISOString(),
        savedAt: timeOf(said.savedAt, 'savedAt').toISOString(),
      }
      head = found
      if (now().getTime() < Date.parse(found.savedAt) - clockToleranceMs)
        reject('not_yet_valid', 'the clock is earlier than the time at which the policy was stored: set the clock')
      const names = [snapshotName(found.generation)]
      for (let n = 1; n <= found.deltas; n++) names.push(deltaName(found.generation, n))
      const policies: string[] = []
      for (const name of names) policies.push((await store.load(name)) ?? gone(name))
      return {
        policies,
        seq: found.seq,
        generatedAt: new Date(found.generatedAt),
        chunk: async (digest) => JSON.parse((await store.load(chunkName(digest))) ?? gone(digest)),
      }
    },
    /** Marks the archive as unusable. The next snapshot starts a new one. */
    giveUp: (): void => {
      isBroken = true
    },
    /** The last accepted number, as far as it is known. Older policies are refused. */
    get seenSeq(): number {
      return head?.seq ?? 0
    },
  }
}
export type PolicyArchive = ReturnType<typeof createArchive>

function objectOf(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  return isObject(value) && value.schema === schema
    ? value
    : reject('malformed', 'the stored value is not a gateway policy')
}

const gone = (name: string): never => reject('malformed', `${name} is missing in the store`)
