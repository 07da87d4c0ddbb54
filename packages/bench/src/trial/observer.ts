import { setTimeout as delay } from 'node:timers/promises'
import type { DeviceState } from '@holdfast/sdk'
import pg from 'pg'
import { typeId } from '../benchmarks/rig/type-id.ts'
import type { Node } from '../deployment/stand.ts'
import { askStraight } from './ask.ts'

/** Allowed delay, in ms, between a change in the database and the answers of the replicas. */
const graceMs = 1_000
/** Allowed time, in ms, during which a reactivated device may still be refused. */
const refusalGraceMs = 5_000
const lookEveryMs = 100
const lanes = 3
const pollEveryMs = 60

/** The state of a device in the database. `since` is the time of the first look that saw it. */
type Seen = { isAllowed: boolean; version: string; since: number }
type Answer = { deviceId: string; replica: string; status: number; sentAt: number; answeredAt: number; known: Seen }
type Wrong = { deviceId: string; replica: string; status: number; lateMs: number; at: number }
export type Observer = ReturnType<typeof createObserver>

/**
 * Sends requests of each device directly to every replica, again and again, and compares the answers with the database.
 * It reads the database with its own SQL, on a connection that no fault touches.
 */
export function createObserver({ nodes, databaseUrl }: { nodes: readonly Node[]; databaseUrl: () => string }) {
  const devices = new Map<string, DeviceState>()
  const seen = new Map<string, Seen>()
  const wrong: Wrong[] = []
  const pending: Answer[] = []
  const counts = { looks: 0, failedLooks: 0, served: 0, refused: 0, unanswered: 0, judged: 0 }
  let isOver = false
  let client: pg.Client | undefined

  async function look(): Promise<void> {
    client ??= await connect(databaseUrl())
    const sentAt = performance.now()
    const { rows } = await client.query<{ device_id: string; is_allowed: boolean; version: string }>(
      `select d.device_id, d.status = 'active' and coalesce(u.status = 'active' and u.deleted_at is null, true) as is_allowed,
         concat_ws(' ', d.updated_at, d.status, u.updated_at, u.status) as version
       from devices d left join users u using (tenant_id, user_id) where 'watched' = any (d.tags)`,
    )
    const answeredAt = performance.now()
    counts.looks++
    const now = new Map(rows.map((row) => [typeId('device', row.device_id), row]))
    for (const deviceId of devices.keys()) {
      const row = now.get(deviceId)
      const isAllowed = row?.is_allowed ?? false
      const version = row?.version ?? 'not there'
      const known = seen.get(deviceId)
      if (known?.isAllowed !== isAllowed || known.version !== version)
        seen.set(deviceId, { isAllowed, version, since: answeredAt })
    }
    judge(sentAt)
  }

  /** An answer is judged once a later look shows that the device's state had not changed meanwhile. */
  function judge(lookedAt: number): void {
    for (const answer of pending.splice(0)) {
      if (answer.answeredAt >= lookedAt) {
        pending.push(answer)
        continue
      }
      const { deviceId, replica, status, sentAt, known } = answer
      if (seen.get(deviceId) !== known) continue
      counts.judged++
      const lateMs = sentAt - known.since
      const isStale = status === 200 ? !known.isAllowed && lateMs > graceMs : known.isAllowed && lateMs > refusalGraceMs
      if (isStale) wrong.push({ deviceId, replica, status, lateMs, at: sentAt })
    }
  }

  const looking = (async () => {
    while (!isOver) {
      await look().catch(() => {
        counts.failedLooks++
        client?.end().catch(() => {})
        client = undefined
      })
      await delay(lookEveryMs)
    }
  })()

  const asks = nodes.map(({ replica }) => askStraight(replica.port))

  const polling = nodes.flatMap(({ replica }, n) =>
    Array.from({ length: lanes }, async (_, lane) => {
      for (let turn = lane; !isOver; turn += lanes) {
        await delay(pollEveryMs)
        const all = [...devices.keys()]
        const deviceId = all[turn % Math.max(1, all.length)]
        const state = deviceId && devices.get(deviceId)
        const known = deviceId && seen.get(deviceId)
        if (!deviceId || !state || !known) continue
        const sentAt = performance.now()
        const { status } = await asks[n]!.ask(state)
        if (status === 0) counts.unanswered++
        else {
          counts[status === 200 ? 'served' : 'refused']++
          pending.push({ deviceId, replica: replica.name, status, sentAt, answeredAt: performance.now(), known })
        }
      }
    }),
  )

  return {
    wrong,
    counts,
    devices: devices as ReadonlyMap<string, DeviceState>,
    watch: (state: DeviceState) => void devices.set(state.deviceId, state),
    /** Connects to the current database, which has been replaced. */
    reconnect: () => {
      client?.end().catch(() => {})
      client = undefined
    },
    /** Compares every device at every replica with the database. Returns the differences in words. */
    compare: async (): Promise<string[]> => {
      await look()
      const differences: string[] = []
      for (const [deviceId, state] of devices) {
        const want = seen.get(deviceId)?.isAllowed ? 200 : 401
        const digests = new Set<string | null>()
        for (const [n, { replica }] of nodes.entries()) {
          const { status, digest } = await asks[n]!.ask(state)
          if (status !== want)
            differences.push(`${replica.name} answers ${status || 'nothing'} to ${deviceId}, not ${want}`)
          if (status === 200) digests.add(digest)
        }
        if (digests.size > 1)
          differences.push(`${deviceId} is given ${digests.size} different policies by the replicas`)
      }
      return differences
    },
    stop: async (): Promise<void> => {
      isOver = true
      await Promise.all([looking, ...polling])
      await client?.end().catch(() => {})
      await Promise.all(asks.map(({ close }) => close()))
    },
  }
}
async function connect(connectionString: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 2_000, query_timeout: 3_000 })
  client.on('error', () => {})
  await client.connect()
  return client
}
