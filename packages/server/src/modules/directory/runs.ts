import type { DirectorySnapshot } from '@holdfast/contract/directory'
import { background, RunAgain } from '../../db/database.ts'
import { unlessTaken } from '../../db/unique-violation.ts'
import type { Actor } from '../../kernel/actor.ts'
import { AppError, fail, failField } from '../../kernel/app-error.ts'
import { encodeId, missing, newUuid } from '../../kernel/ids.ts'
import { minute } from '../../kernel/time.ts'
import { behalfOf } from './acting-principal.ts'
import { type ApplyRun, newRun, type Origin, type SnapshotContent } from './apply-run.ts'
import { noCounts } from './counts.ts'
import type { RunDeps } from './deps.ts'
import { judgementColumns } from './judge.ts'
import type { DirectoryRunRow } from './runs.queries.ts'
import * as queries from './runs.queries.ts'
import { freeWindow } from './scim/windows.queries.ts'
import { readSnapshot } from './snapshot.ts'

/** Maximum time by which a directory's clock may be ahead, in ms. */
const aheadMs = 10 * minute

/** Pushed snapshots, and the confirmation of held ones. */
export function createDirectoryRuns({
  db,
  now,
  owned,
  applyRun,
}: Pick<RunDeps, 'db' | 'now' | 'owned'> & { applyRun: ApplyRun }) {
  /** Stores a failed run after an internal error, if the database is available. */
  async function noteFailure(actor: Actor, origin: Origin, started: Date): Promise<void> {
    const tenant = actor.tenantId
    await db.inTenant(tenant, async (tx) => {
      const directory = await queries.findDirectory(tx, tenant, origin.provider)
      await queries.insertDirectoryRun(tx, {
        ...newRun(tenant, newUuid(), origin, started),
        directory_id: directory?.directory_id ?? null,
        status: 'failed',
        counts: noCounts,
        held_because: [],
        diff: [],
        problems: [],
        problem_count: 0,
        finished_at: now(),
      })
    })
  }

  return {
    ingest: async (actor: Actor, body: DirectorySnapshot): Promise<DirectoryRunRow> => {
      const { provider, snapshot_id, users, groups } = body
      const startedAt = now()
      const origin = { provider, snapshot_id, generatedAt: new Date(body.generated_at) }
      if (origin.generatedAt.getTime() > startedAt.getTime() + aheadMs)
        failField('generated_at', 'must not be in the future')
      const reading = {
        runId: newUuid(),
        origin,
        said: await readSnapshot(body),
        content: { users, groups },
        startedAt,
        confirmed: body.confirm_mass_change ?? false,
        write: queries.insertDirectoryRun,
      }
      if (body.dry_run) return await applyRun.dryRun(behalfOf(actor), reading)
      try {
        return await applyRun.take(behalfOf(actor), reading)
      } catch (e) {
        if (!(e instanceof AppError) || e.code === 'internal_error')
          await noteFailure(actor, origin, startedAt).catch(() => {})
        throw e
      }
    },

    /** Applies a held run, based on the current state. Of two calls, the second gets the run as the first left it. */
    confirm: async (actor: Actor, id: string, reason: string | undefined): Promise<DirectoryRunRow> => {
      const tenant = actor.tenantId
      const read = await db.inTenant(
        tenant,
        async (tx) => ({
          run: await queries.findDirectoryRun(tx, tenant, id),
          content: await queries.findContent(tx, tenant, id),
        }),
        background,
      )
      const run = read.run ?? missing('directory_run')
      if (run.confirmed_at) return run
      if (run.status !== 'held' || read.content === undefined) return notHeld(run)
      const snapshot = await readSnapshot(JSON.parse(read.content) as SnapshotContent)
      return unlessTaken(() =>
        db.inTenant(
          tenant,
          async (tx) => {
            const directory = await queries.lockDirectory(tx, tenant, run.directory_id ?? missing('directory_run'))
            if (!directory) return missing('directory_run')
            const places = await owned.holdPlaces(tx, tenant)
            const current = (await queries.findDirectoryRun(tx, tenant, id)) ?? missing('directory_run')
            if (current.confirmed_at) return current
            if (current.status !== 'held') return notHeld(current)
            const judged = await applyRun.judge(tx, behalfOf(actor), directory.directory_id, snapshot)
            const write = async (status: 'applied' | 'unchanged') => {
              const settled = { status, ...judgementColumns(judged), finished_at: now() }
              if (!(await queries.settleHeld(tx, tenant, id, settled)))
                throw new RunAgain('the run was confirmed meanwhile')
              await queries.deleteContent(tx, tenant, id)
            }
            await applyRun.apply(tx, behalfOf(actor), directory, { runId: id, ...judged, places, write, reason })
            return (await queries.findDirectoryRun(tx, tenant, id)) ?? missing('directory_run')
          },
          background,
        ),
      )
    },
  }
}
export type DirectoryRuns = ReturnType<typeof createDirectoryRuns>

const notHeld = ({ status }: DirectoryRunRow): never =>
  fail('validation_error', `this run is ${status}: only a held run can be confirmed`)

/**
 * Discards a held run as a mistake: none of it is ever applied. Provisioned changes keep counting within their hour, so
 * that more of the same is held again. Undefined for a run that is not held.
 */
export const createDismiss =
  ({ db, audit, now }: Pick<RunDeps, 'db' | 'audit' | 'now'>) =>
  (actor: Actor, id: string, reason: string | undefined): Promise<DirectoryRunRow | undefined> => {
    const tenant = actor.tenantId
    return db.inTenant(tenant, async (tx) => {
      const found = await queries.findDirectoryRun(tx, tenant, id)
      if (found?.status !== 'held' || found.directory_id === null) return undefined
      const { directory_id: directory, provider } = found
      await queries.lockDirectory(tx, tenant, directory)
      // Windows are locked before runs, as in a push.
      await freeWindow(tx, tenant, directory, id, null)
      if (!(await queries.cancelHeld(tx, tenant, id, { failure: reason ?? 'The run was cancelled.', at: now() })))
        return undefined
      await queries.deleteContent(tx, tenant, id)
      const run_id = encodeId('directory_run', id)
      const target = { type: 'directory_run', id: run_id, name: provider }
      const details = { ...(reason !== undefined && { reason }) }
      await audit.record(tx, actor, 'directory.synced', { run_id, provider, status: 'cancelled' }, { target, details })
      return queries.findDirectoryRun(tx, tenant, id)
    })
  }
