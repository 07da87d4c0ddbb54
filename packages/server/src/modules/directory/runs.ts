import type { DirectorySnapshot, RunCounts } from '@holdfast/contract/directory'
import { background, type Database, RunAgain, type Tx } from '../../db/database.ts'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import { AppError, fail, failField } from '../../kernel/app-error.ts'
import { encodeId, missing, newUuid } from '../../kernel/ids.ts'
import { minute } from '../../kernel/time.ts'
import type { Changes } from '../../memory/changes.ts'
import type { Audit } from '../audit/index.ts'
import type { Owned } from '../identity/index.ts'
import { noCounts } from './counts.ts'
import { columnsOf, createJudge } from './judge.ts'
import type { Plan } from './plan.ts'
import type { Directory, RunRow } from './runs.queries.ts'
import * as queries from './runs.queries.ts'
import { readSnapshot, type Said } from './snapshot.ts'
import { requireSource } from './source.ts'
import { isNothing } from './summary.ts'
import { contentOf } from './undo.ts'
import { unlessTaken } from './unless-taken.ts'

/** How far the clock of a directory may be ahead. */
const aheadMs = 10 * minute

export type RunDeps = { db: Database; audit: Audit; changes: Changes; now: () => Date; owned: Owned }
/** What a run is of: a pushed snapshot, or whatever else reads a whole directory. */
type Source = Pick<DirectorySnapshot, 'provider' | 'snapshot_id'> & { generatedAt: Date }

/** Brings what is held of a directory to what it says: judged under the directory's lock, applied in one transaction. */
export function createRuns({ db, audit, changes, now, owned }: RunDeps) {
  const judge = createJudge(owned)

  /** Makes the changes, keeps what it takes to undo them, and records the run; the last of its transaction. */
  async function apply(
    tx: Tx,
    actor: Actor,
    directory: Directory,
    { runId, plan, counts, reason, write }: ApplyWith,
  ): Promise<void> {
    const tenant = actor.tenantId
    const run_id = encodeId('directory_run', runId)
    const { provider, directory_id } = directory
    const status = isNothing(counts) ? 'unchanged' : 'applied'
    const earlier = status === 'applied' ? await queries.newestRun(tx, tenant, directory_id, 'applied') : undefined
    const details = { run_id, provider }
    const { touched } = await owned.apply(tx, { source: actor, directory: directory_id, details }, plan.changes)
    await write(status)
    if (status === 'applied') {
      if (earlier) await queries.deleteContent(tx, tenant, earlier.run_id)
      await queries.deleteContent(tx, tenant, runId)
      await queries.insertContent(tx, tenant, runId, contentOf(plan, counts))
    }
    await record(tx, actor, { run_id, provider, status }, counts, reason)
    if (touched.length > 0) await changes.record(tx, tenant, touched)
  }
  const record = (
    tx: Tx,
    actor: Actor,
    fields: { run_id: string; provider: string; status: string },
    counts: RunCounts,
    reason?: string,
  ) => {
    const target = { type: 'directory_run', id: fields.run_id, name: fields.provider }
    return audit.record(tx, actor, 'directory.synced', fields, {
      target,
      details: { ...counts, ...(reason !== undefined && { reason }) },
    })
  }

  /** Refuses what is not newer than what was taken; a snapshot that was taken has its run already. */
  async function requireNewer(
    tx: Tx,
    tenant: TenantId,
    directory: Directory,
    source: Source,
  ): Promise<RunRow | undefined> {
    const earlier = await queries.runOfSnapshot(tx, tenant, directory.directory_id, source.snapshot_id)
    if (earlier && earlier.generated_at.getTime() !== source.generatedAt.getTime())
      failField('snapshot_id', `was that of the snapshot of ${earlier.generated_at.toISOString()}`)
    if (earlier) return earlier
    const known = directory.generated_at
    if (known && source.generatedAt <= known)
      failField(
        'generated_at',
        `must be later than ${known.toISOString()}, that of the newest snapshot which was taken`,
      )
    return undefined
  }

  async function dryRun(actor: Actor, source: Source, said: Said): Promise<RunRow> {
    const tenant = actor.tenantId
    const started = now()
    return db.inTenant(
      tenant,
      async (tx) => {
        const directory = await queries.findDirectory(tx, tenant, source.provider)
        if (directory) {
          requireSource(directory, 'snapshot')
          await requireNewer(tx, tenant, directory, source)
        }
        const judged = await judge(tx, actor, directory?.directory_id, said)
        const id = newUuid()
        await queries.insertRun(tx, {
          ...newRun(tenant, id, source, started),
          directory_id: null,
          status: 'dry_run',
          ...columnsOf(judged),
          held_because: judged.held,
          finished_at: now(),
        })
        await record(tx, actor, eventOf(id, source, 'dry_run'), judged.counts)
        return (await queries.findRun(tx, tenant, id)) ?? missing('directory_run')
      },
      background,
    )
  }

  async function take(actor: Actor, source: Source, said: Said, { body, confirmed }: TakeWith): Promise<RunRow> {
    const tenant = actor.tenantId
    const started = now()
    return db.inTenant(
      tenant,
      async (tx) => {
        await queries.insertDirectory(tx, {
          tenant_id: tenant,
          directory_id: newUuid(),
          provider: source.provider,
          created_at: started,
          source: 'snapshot',
        })
        const found = (await queries.findDirectory(tx, tenant, source.provider)) ?? missing('directory_run')
        const directory = (await queries.lockDirectory(tx, tenant, found.directory_id)) ?? missing('directory_run')
        requireSource(directory, 'snapshot')
        const earlier = await requireNewer(tx, tenant, directory, source)
        if (earlier) return earlier
        const judged = await judge(tx, actor, directory.directory_id, said)
        const id = newUuid()
        const isHeld = judged.held.length > 0 && !confirmed
        const write = async (status: RunRow['status']) => {
          await queries.supersedeHeld(tx, tenant, directory.directory_id)
          await queries.insertRun(tx, {
            ...newRun(tenant, id, source, started),
            directory_id: directory.directory_id,
            provider: directory.provider,
            status,
            ...columnsOf(judged),
            held_because: judged.held,
            finished_at: now(),
          })
          await queries.setGeneratedAt(tx, tenant, directory.directory_id, source.generatedAt)
        }
        if (isHeld) {
          await write('held')
          await queries.insertContent(tx, tenant, id, JSON.stringify({ users: body.users, groups: body.groups }))
          await record(tx, actor, eventOf(id, source, 'held'), judged.counts)
        } else await apply(tx, actor, directory, { runId: id, ...judged, write })
        return (await queries.findRun(tx, tenant, id)) ?? missing('directory_run')
      },
      background,
    )
  }

  /** That a run came to nothing is on record beside the refusal, unless the database is what failed. */
  async function noteFailure(actor: Actor, source: Source, started: Date): Promise<void> {
    const tenant = actor.tenantId
    await db.inTenant(tenant, async (tx) => {
      const directory = await queries.findDirectory(tx, tenant, source.provider)
      await queries.insertRun(tx, {
        ...newRun(tenant, newUuid(), source, started),
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
    ingest: async (actor: Actor, body: DirectorySnapshot): Promise<RunRow> => {
      const { provider, snapshot_id } = body
      const started = now()
      const source = { provider, snapshot_id, generatedAt: new Date(body.generated_at) }
      if (source.generatedAt.getTime() > started.getTime() + aheadMs) failField('generated_at', 'lies in the future')
      const said = await readSnapshot(body)
      if (body.dry_run) return await dryRun(actor, source, said)
      try {
        return await unlessTaken(() =>
          take(actor, source, said, { body, confirmed: body.confirm_mass_change ?? false }),
        )
      } catch (e) {
        if (!(e instanceof AppError) || e.code === 'internal_error')
          await noteFailure(actor, source, started).catch(() => {})
        throw e
      }
    },

    /** Applies what is held, by what holds now. Whoever comes second gets the run as the first has made it. */
    confirm: async (actor: Actor, id: string, reason: string | undefined): Promise<RunRow> => {
      const tenant = actor.tenantId
      const read = await db.inTenant(
        tenant,
        async (tx) => ({
          run: await queries.findRun(tx, tenant, id),
          content: await queries.findContent(tx, tenant, id),
        }),
        background,
      )
      const run = read.run ?? missing('directory_run')
      if (run.confirmed_at) return run
      if (run.status !== 'held' || read.content === undefined) return notHeld(run)
      const said = await readSnapshot(JSON.parse(read.content) as Pick<DirectorySnapshot, 'users' | 'groups'>)
      return unlessTaken(() =>
        db.inTenant(
          tenant,
          async (tx) => {
            const directory = await queries.lockDirectory(tx, tenant, run.directory_id ?? missing('directory_run'))
            if (!directory) return missing('directory_run')
            const current = (await queries.findRun(tx, tenant, id)) ?? missing('directory_run')
            if (current.confirmed_at) return current
            if (current.status !== 'held') return notHeld(current)
            const judged = await judge(tx, actor, directory.directory_id, said)
            const write = async (status: 'applied' | 'unchanged') => {
              const settled = { status, ...columnsOf(judged), finished_at: now() }
              if (!(await queries.settleHeld(tx, tenant, id, settled)))
                throw new RunAgain('the run was confirmed meanwhile')
              await queries.deleteContent(tx, tenant, id)
            }
            await apply(tx, actor, directory, { runId: id, ...judged, write, reason })
            return (await queries.findRun(tx, tenant, id)) ?? missing('directory_run')
          },
          background,
        ),
      )
    },
  }
}
export type Runs = ReturnType<typeof createRuns>

type TakeWith = { body: Pick<DirectorySnapshot, 'users' | 'groups'>; confirmed: boolean }
type ApplyWith = {
  runId: string
  plan: Plan
  counts: RunCounts
  reason?: string | undefined
  /** Writes the row of the run, once it is known what has become of it. */
  write: (status: 'applied' | 'unchanged') => Promise<void>
}

const notHeld = ({ status }: RunRow): never =>
  fail('validation_error', `this run is ${status}: only one that is held can be confirmed`)

const newRun = (
  tenant_id: TenantId,
  run_id: string,
  { provider, snapshot_id, generatedAt }: Source,
  started_at: Date,
) => ({
  tenant_id,
  run_id,
  provider,
  snapshot_id,
  generated_at: generatedAt,
  started_at,
})
const eventOf = (id: string, { provider }: Source, status: string) => ({
  run_id: encodeId('directory_run', id),
  provider,
  status,
})
