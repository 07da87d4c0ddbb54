import type { DirectorySnapshot, RunCounts } from '@holdfast/contract/directory'
import { background, type Tx } from '../../db/database.ts'
import { unlessTaken } from '../../db/unique-violation.ts'
import type { Source, TenantId } from '../../kernel/actor.ts'
import type { Allowance } from '../../kernel/allowance.ts'
import { failField } from '../../kernel/app-error.ts'
import { encodeId, missing, newUuid } from '../../kernel/ids.ts'
import type { ActingPrincipal } from './acting-principal.ts'
import type { RunDeps } from './deps.ts'
import { createSnapshotJudge, judgementColumns } from './judge.ts'
import { heldNotice } from './notices.ts'
import type { Plan } from './plan.ts'
import type { DirectoryOfRun, DirectoryRunRow, NewRun } from './runs.queries.ts'
import * as queries from './runs.queries.ts'
import type { Said } from './snapshot.ts'
import { requireSource } from './source.ts'
import { isNothing } from './summary.ts'
import { undoContentOf } from './undo.ts'

/** Identity of a run's content: a pushed snapshot or a pulled directory. */
export type Origin = Pick<DirectorySnapshot, 'provider' | 'snapshot_id'> & { generatedAt: Date }
export type SnapshotContent = Pick<DirectorySnapshot, 'users' | 'groups'>
/** A whole directory, checked for consistency, for a new run. */
type Reading = {
  runId: string
  origin: Origin
  said: Said
  content: SnapshotContent
  startedAt: Date
  confirmed: boolean
  /** Writes the run's row, before any other row of runs is changed. */
  write: (tx: Tx, run: NewRun) => Promise<unknown>
}
type ApplyWith = {
  runId: string
  plan: Plan
  counts: RunCounts
  reason?: string | undefined
  places: Allowance
  /** Writes the run's row, once the result is known. */
  write: (status: 'applied' | 'unchanged') => Promise<void>
}

/**
 * Updates the stored state of a directory to its content. Changes are judged under the directory lock and applied in
 * one transaction.
 */
export function createApplyRun({ db, audit, changes, now, owned, notify }: RunDeps) {
  const judge = createSnapshotJudge(owned)

  /** Applies the changes, stores the data for an undo, and records the run. Must come last in the transaction. */
  async function apply(
    tx: Tx,
    principal: ActingPrincipal,
    directory: DirectoryOfRun,
    { runId, plan, counts, places, reason, write }: ApplyWith,
  ): Promise<void> {
    const { source } = principal
    const tenant = source.tenantId
    const run_id = encodeId('directory_run', runId)
    const { provider, directory_id } = directory
    const status = isNothing(counts) ? 'unchanged' : 'applied'
    const earlier = status === 'applied' ? await queries.newestRun(tx, tenant, directory_id, 'applied') : undefined
    const details = { run_id, provider }
    const { touched } = await owned.apply(tx, { ...principal, directory: directory_id, details, places }, plan.changes)
    await write(status)
    if (status === 'applied') {
      if (earlier) await queries.deleteContent(tx, tenant, earlier.run_id)
      await queries.deleteContent(tx, tenant, runId)
      await queries.insertContent(tx, tenant, runId, undoContentOf(plan, counts))
    }
    await record(tx, source, { run_id, provider, status }, counts, reason)
    if (touched.length > 0) await changes.record(tx, tenant, touched)
  }
  const record = (
    tx: Tx,
    source: Source,
    fields: { run_id: string; provider: string; status: string },
    counts: RunCounts,
    reason?: string,
  ) => {
    const target = { type: 'directory_run', id: fields.run_id, name: fields.provider }
    return audit.record(tx, source, 'directory.synced', fields, {
      target,
      details: { ...counts, ...(reason !== undefined && { reason }) },
    })
  }

  /**
   * Refuses a snapshot that is not newer than the last accepted one. Returns the existing run of a snapshot that was
   * accepted before.
   */
  async function requireNewer(
    tx: Tx,
    tenant: TenantId,
    directory: DirectoryOfRun,
    origin: Origin,
  ): Promise<DirectoryRunRow | undefined> {
    const earlier = await queries.runOfSnapshot(tx, tenant, directory.directory_id, origin.snapshot_id)
    if (earlier && earlier.generated_at.getTime() !== origin.generatedAt.getTime())
      failField(
        'snapshot_id',
        `was already used by the snapshot of ${earlier.generated_at.toISOString()}: send a new id`,
      )
    if (earlier) return earlier
    const known = directory.generated_at
    if (known && origin.generatedAt <= known)
      failField('generated_at', `must be later than ${known.toISOString()}, the time of the newest accepted snapshot`)
    return undefined
  }

  /** Computes the changes without applying them. */
  function dryRun(
    principal: ActingPrincipal,
    { runId, origin, said, startedAt, write }: Reading,
  ): Promise<DirectoryRunRow> {
    const tenant = principal.source.tenantId
    return db.inTenant(
      tenant,
      async (tx) => {
        const directory = await queries.findDirectory(tx, tenant, origin.provider)
        if (directory) {
          requireSource(directory, 'snapshot')
          await requireNewer(tx, tenant, directory, origin)
        }
        const judged = await judge(tx, principal, directory?.directory_id, said)
        await write(tx, {
          ...newRun(tenant, runId, origin, startedAt),
          directory_id: null,
          status: 'dry_run',
          ...judgementColumns(judged),
          held_because: judged.held,
          finished_at: now(),
        })
        await record(tx, principal.source, eventOf(runId, origin, 'dry_run'), judged.counts)
        return (await queries.findDirectoryRun(tx, tenant, runId)) ?? missing('directory_run')
      },
      background,
    )
  }

  function take(principal: ActingPrincipal, reading: Reading): Promise<DirectoryRunRow> {
    const { runId, origin, said, content, startedAt, confirmed } = reading
    const tenant = principal.source.tenantId
    return db.inTenant(
      tenant,
      async (tx) => {
        await queries.insertDirectory(tx, {
          tenant_id: tenant,
          directory_id: newUuid(),
          provider: origin.provider,
          created_at: startedAt,
          source: 'snapshot',
        })
        const found = (await queries.findDirectory(tx, tenant, origin.provider)) ?? missing('directory_run')
        const directory = (await queries.lockDirectory(tx, tenant, found.directory_id)) ?? missing('directory_run')
        const places = await owned.holdPlaces(tx, tenant)
        requireSource(directory, 'snapshot')
        const earlier = await requireNewer(tx, tenant, directory, origin)
        if (earlier) return earlier
        const judged = await judge(tx, principal, directory.directory_id, said)
        const write = async (status: DirectoryRunRow['status']) => {
          await reading.write(tx, {
            ...newRun(tenant, runId, origin, startedAt),
            directory_id: directory.directory_id,
            provider: directory.provider,
            status,
            ...judgementColumns(judged),
            held_because: judged.held,
            finished_at: now(),
          })
          await queries.supersedeHeld(tx, tenant, directory.directory_id, runId)
          await queries.setGeneratedAt(tx, tenant, directory.directory_id, origin.generatedAt)
        }
        if (judged.held.length > 0 && !confirmed) {
          await write('held')
          await queries.insertContent(tx, tenant, runId, JSON.stringify(content))
          await record(tx, principal.source, eventOf(runId, origin, 'held'), judged.counts)
          await notify(tx, tenant, heldNotice(runId, directory, judged))
        } else await apply(tx, principal, directory, { runId, ...judged, places, write })
        return (await queries.findDirectoryRun(tx, tenant, runId)) ?? missing('directory_run')
      },
      background,
    )
  }

  return {
    judge,
    apply,
    dryRun,
    take: (principal: ActingPrincipal, reading: Reading) => unlessTaken(() => take(principal, reading)),
  }
}
export type ApplyRun = ReturnType<typeof createApplyRun>

export const newRun = (
  tenant_id: TenantId,
  run_id: string,
  { provider, snapshot_id, generatedAt }: Origin,
  started_at: Date,
) => ({ tenant_id, run_id, provider, snapshot_id, generated_at: generatedAt, started_at })

const eventOf = (id: string, { provider }: Origin, status: string) => ({
  run_id: encodeId('directory_run', id),
  provider,
  status,
})
