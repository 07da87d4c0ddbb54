import type { Database, Tx } from '../../../db/database.ts'
import { type Actor, jobSource, type Source, type TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import { encodeId, missing, newUuid } from '../../../kernel/ids.ts'
import { day } from '../../../kernel/time.ts'
import type { Audit } from '../../audit/index.ts'
import { noCounts } from '../counts.ts'
import { type DirectoryRunRow, findDirectoryRun } from '../runs.queries.ts'
import * as queries from './pulls.queries.ts'
import { beginning, noProgress } from './reading.ts'
import { nextRun } from './schedule.ts'
import type { SourceRow } from './sources.queries.ts'
import * as sources from './sources.queries.ts'

/**
 * Limits for continuing from an earlier reading: delta links of Entra ID are valid for seven days, and the number of
 * stored pages must stay small.
 */
const keptForMs = 6 * day
const mostKeptPages = 500

type PullOptions = { dry_run?: boolean | undefined; confirm_mass_change?: boolean | undefined }
type Begun = { run: DirectoryRunRow; begun: boolean }
export const pullJob = 'pull_directories'

/** Starts and cancels pulls. A source has one pull at a time, protected by the lock of the source. */
export function createPullBegin({
  db,
  audit,
  now,
  started,
  ended,
}: {
  db: Database
  audit: Audit
  now: () => Date
  /** Called after commit, with a source to be read or a run to be stopped. */
  started: (tenant: TenantId, source: string) => void
  ended: (run: string) => void
}) {
  const noRun = () => missing('directory_run')

  async function begin(tx: Tx, by: Source, source: SourceRow, options: PullOptions): Promise<Begun> {
    const { tenantId: tenant } = by
    const { source_id, directory_id, provider } = source
    const underWay = await queries.findPull(tx, tenant, source_id)
    if (underWay) return { run: (await findDirectoryRun(tx, tenant, underWay.run_id)) ?? noRun(), begun: false }
    const at = now()
    const kept = source.kept && isGood(source.kept, at) ? source.kept : null
    const run_id = newUuid()
    const id = encodeId('directory_run', run_id)
    await sources.setState(tx, tenant, source_id, {
      next_run_at: nextRun(source, at, source.failures),
      ...(kept === null && { kept }),
    })
    await queries.insertPull(tx, tenant, noCounts, {
      run_id,
      source_id,
      directory_id,
      provider,
      snapshot_id: id,
      at,
      progress: noProgress(),
      dry_run: options.dry_run ?? false,
      confirmed: options.confirm_mass_change ?? false,
      requested_by: by.type === 'job' ? null : { type: by.type, id: by.id, name: by.name },
      cursor: beginning({ ...source, kept }),
      pages: kept?.pages ?? 0,
    })
    await queries.deletePages(tx, tenant, source_id, kept?.pages ?? 0)
    const target = { type: 'directory_run', id, name: provider }
    const setOptions = Object.fromEntries(Object.entries(options).filter(([, wanted]) => wanted))
    await audit.record(tx, by, 'directory.pull_started', { run_id: id, provider }, { target, details: setOptions })
    db.afterCommit(tx, () => started(tenant, source_id))
    return { run: (await findDirectoryRun(tx, tenant, run_id)) ?? noRun(), begun: true }
  }

  /**
   * Cancels a pull; the caller holds the lock of the source. False if the pull has ended or is another one. Pages that
   * it has read are deleted.
   */
  async function callOff(tx: Tx, by: Source, source: SourceRow, run_id: string, why: string): Promise<boolean> {
    const { tenantId: tenant } = by
    const { source_id, provider, kept } = source
    if (!(await queries.endPull(tx, { tenant_id: tenant, source_id, run_id }))) return false
    await queries.endPulledRun(tx, tenant, run_id, { status: 'cancelled', failure: why, at: now() })
    await queries.deletePages(tx, tenant, source_id, kept?.pages ?? 0)
    const id = encodeId('directory_run', run_id)
    const target = { type: 'directory_run', id, name: provider }
    await audit.record(
      tx,
      by,
      'directory.pull_cancelled',
      { run_id: id, provider },
      { target, details: { reason: why } },
    )
    db.afterCommit(tx, () => ended(run_id))
    return true
  }

  return {
    begin: (actor: Actor, sourceId: string, options: PullOptions): Promise<Begun> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const source = (await sources.lockSource(tx, actor.tenantId, sourceId)) ?? missing('directory_source')
        if (source.credential_jwe === null) failField('source_id', 'has no credential: set one first')
        return begin(tx, actor, source, options)
      }),

    /** For the path that exists only for Keycloak. */
    beginOnly: async (actor: Actor, options: PullOptions): Promise<Begun> => {
      const tenant = actor.tenantId
      return db.inTenant(tenant, async (tx) => {
        const found = await sources.selectSources(tx, tenant).where('kind', '=', 'keycloak').limit(2).execute()
        const [only, another] = found
        if (!only) return fail('not_found', 'no directory source is of kind keycloak')
        if (another)
          fail('validation_error', 'several directory sources are of kind keycloak: run one of them by its id')
        const source = (await sources.lockSource(tx, tenant, only.source_id)) ?? missing('directory_source')
        if (source.credential_jwe === null) failField('source_id', 'has no credential: set one first')
        return begin(tx, actor, source, options)
      })
    },

    /** Starts the pull if it is still due. */
    beginDue: (tenant: TenantId, sourceId: string): Promise<void> =>
      db.inTenant(tenant, async (tx) => {
        const source = await sources.lockSource(tx, tenant, sourceId)
        if (!source?.next_run_at || source.next_run_at > now() || source.credential_jwe === null) return
        await begin(tx, jobSource(tenant, pullJob), source, {})
      }),

    cancel: (
      actor: Actor,
      id: string,
      reason: string | undefined,
    ): Promise<{ run: DirectoryRunRow; changed: boolean }> =>
      db.inTenant(actor.tenantId, async (tx) => {
        const tenant = actor.tenantId
        const found = (await findDirectoryRun(tx, tenant, id)) ?? noRun()
        if (found.source_id === null && found.status === 'cancelled') return { run: found, changed: false }
        if (found.source_id === null) return notCancelled(found)
        const source = await sources.lockSource(tx, tenant, found.source_id)
        const changed =
          source !== undefined && (await callOff(tx, actor, source, id, reason ?? 'The run was cancelled.'))
        // The pull took longer than the interval. The next one waits for the next interval, so that it does not start
        // right after a cancellation.
        if (changed && source.next_run_at && source.next_run_at <= now())
          await sources.setState(tx, tenant, source.source_id, { next_run_at: nextRun(source, now(), source.failures) })
        const current = (await findDirectoryRun(tx, tenant, id)) ?? noRun()
        if (!changed && current.status !== 'cancelled') return notCancelled(current)
        return { run: current, changed }
      }),

    /** Cancels the pull of a source. The caller holds the lock of the source. */
    callOffOf: async (tx: Tx, actor: Actor, source: SourceRow, why: string): Promise<void> => {
      const pull = await queries.findPull(tx, actor.tenantId, source.source_id)
      if (pull) await callOff(tx, actor, source, pull.run_id, why)
    },
  }
}
export type Begin = ReturnType<typeof createPullBegin>

const isGood = ({ readAt, pages }: NonNullable<SourceRow['kept']>, at: Date): boolean =>
  at.getTime() - Date.parse(readAt) < keptForMs && pages < mostKeptPages

const notCancelled = ({ status }: DirectoryRunRow): never =>
  fail('validation_error', `this run is ${status}: only a running pull or a held run can be cancelled`)
