import { type Kek, type Peppers, reseal, sealedPrefix, takenTo } from '@holdfast/crypto'
import { background, type Database } from '../../db/database.ts'
import {
  type Counted,
  countByKey,
  replaceValues,
  type SecretColumn,
  type SecretValue,
  secretColumns,
  valuesUnder,
} from '../../db/secret-columns.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { day } from '../../kernel/time.ts'
import * as queries from './registry.queries.ts'
import { isKeyOver, isNeeded } from './registry.ts'

/** Batch sizes that keep both a turn of the event loop and a transaction short. */
const batches = { sealed: 50, digest: 500 } as const

type Count = Counted & { of: SecretColumn }

/**
 * Moves everything that a former master key sealed or digested to the current one, and counts what is left under each
 * key. A key is marked unused once no data is under it and no replica writes with it. It is checked until no new data
 * can appear under it; if some does, the key is in use again. An interrupted run is continued by the next one: a value
 * is replaced only if it is still the one that was read.
 */
export function createRewrap(deps: {
  db: Database
  kek: Kek
  peppers: Peppers
  now: () => Date
  onError: (e: Error) => void
}) {
  const { db, kek, peppers, now, onError } = deps
  const { version: current } = peppers.current
  const length = sealedPrefix(kek.kid).length
  const run = <T>(tenant: TenantId | null, work: Parameters<typeof db.acrossTenants<T>>[0]): Promise<T> =>
    tenant === null ? db.acrossTenants(work, background) : db.inTenant(tenant, work, background)

  async function countAll(columns: readonly SecretColumn[]): Promise<Count[]> {
    const counts: Count[] = []
    for (const of of columns)
      for (const found of await db.acrossTenants((tx) => countByKey(tx, of, length), background))
        counts.push({ ...found, of })
    return counts
  }

  const freshOf = async (of: SecretColumn, { was, mark }: SecretValue): Promise<string> => {
    if (of.kind === 'sealed') return reseal(kek, was)
    const digest = { digest: Buffer.from(was.slice(2), 'hex'), version: Number(mark) }
    return `\\x${takenTo(peppers, digest, current).toString('hex')}`
  }

  /** Moves the values of one tenant, column and key. A value that cannot be opened stays as it is. */
  async function take({ of, tenant, mark }: Count): Promise<number> {
    const limit = batches[of.kind]
    let moved = 0
    for (let after: string[] = []; ; ) {
      const found = await run(tenant, (tx) => valuesUnder(tx, of, { tenant, mark, after, limit }))
      const made = await Promise.allSettled(found.map((value) => freshOf(of, value)))
      const values = found.flatMap((value, i) => {
        const fresh = made[i]!
        return fresh.status === 'fulfilled' ? [{ ...value, fresh: fresh.value }] : []
      })
      if (values.length > 0)
        moved += await run(tenant, (tx) => replaceValues(tx, of, { tenant, version: current, values }))
      if (values.length < found.length)
        onError(new Error(`${found.length - values.length} values of ${of.table}.${of.column} cannot be decrypted`))
      if (found.length < limit) return moved
      after = found.at(-1)!.place
    }
  }

  return async (): Promise<number> => {
    const [rows, replicas] = await db.acrossTenants(async (tx) => [
      await queries.selectMasterKeys(tx),
      await queries.runningReplicas(tx),
    ])
    // Left to a replica that writes with a newer key.
    if (rows.some((row) => row.version > current && row.written_at !== null)) return 0
    const former = rows.filter((row) => row.version !== current && isNeeded(row))
    const isDone = rows.every((row) => row.version === current || row.written_at === null || isKeyOver(row, now()))
    const counted = rows.find((row) => row.version === current)?.counted_at ?? new Date(0)
    if (isDone && now().getTime() - counted.getTime() < day) return 0

    const keyOf = new Map(rows.map((row) => [sealedPrefix(row.key_id), row.version]))
    const versionOf = ({ of, mark }: Count) => (of.kind === 'digest' ? Number(mark) : keyOf.get(mark))
    const columns = await db.acrossTenants(secretColumns)
    let counts = await countAll(columns)
    let moved = 0
    for (const count of counts) {
      if ((versionOf(count) ?? 0) >= current) continue
      // A failure of one column does not stop the others. Its values stay in the count below.
      moved += await take(count).catch((e: Error) => {
        onError(e)
        return 0
      })
    }
    if (moved > 0) counts = await countAll(columns)

    const amount = (version: number, kind: SecretColumn['kind']) =>
      counts.filter((c) => c.of.kind === kind && versionOf(c) === version).reduce((sum, c) => sum + c.amount, 0)
    const at = now()
    await db.acrossTenants(async (tx) => {
      await queries.holdMasterKeys(tx)
      const running = [...replicas, ...(await queries.runningReplicas(tx))]
      for (const { version, written_at } of await queries.selectMasterKeys(tx)) {
        const found = { sealed: amount(version, 'sealed'), digests: amount(version, 'digest') }
        const isEmpty = found.sealed + found.digests === 0
        await queries.setKeyCounts(tx, version, { ...found, counted_at: at, ...(!isEmpty && { unused_since: null }) })
        const before = former.find((row) => row.version === version)
        const isSame = before?.written_at?.getTime() === written_at?.getTime()
        const isWritten = running.some(({ writes }) => writes.includes(version))
        if (before && isSame && !isWritten && isEmpty) await queries.markKeyUnused(tx, version, at)
      }
    })
    return moved
  }
}
