import type { Role } from '@holdfast/contract/vocabulary'
import type { Tx } from '../../../db/database.ts'
import type { KeptReading } from '../../../db/tables/directory.ts'
import { isAway } from '../../../db/unavailable.ts'
import { createLeasedWorker, LeaseLost } from '../../../jobs/leased-worker.ts'
import { jobSource, type Source } from '../../../kernel/actor.ts'
import { AppError } from '../../../kernel/app-error.ts'
import { createConcurrencyLimiter } from '../../../kernel/concurrency.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { minute } from '../../../kernel/time.ts'
import type { Outbound } from '../../../outbound/outbound.ts'
import { covers, permissionsOfRoles } from '../../access/index.ts'
import type { ActingPrincipal } from '../acting-principal.ts'
import type { ApplyRun } from '../apply-run.ts'
import type { RunDeps } from '../deps.ts'
import { failingNotice, recoveredNotice } from '../notices.ts'
import { findDirectoryRun, type NewRun } from '../runs.queries.ts'
import { readSnapshot } from '../snapshot.ts'
import { type Begin, createPullBegin, pullJob } from './begin.ts'
import { PullError } from './pull-error.ts'
import * as queries from './pulls.queries.ts'
import { createReading, type Holding, noProgress, TurnOver } from './reading.ts'
import { nextRun } from './schedule.ts'
import type { SourceRow } from './sources.queries.ts'
import * as sources from './sources.queries.ts'

/** Limits. Reading mostly waits for slow directories, so many may read. Merging and applying takes CPU, so few may. */
const readers = { perKey: 2, total: 16, waiting: 64 }
const appliers = { perKey: 1, total: 2, waiting: readers.total }
const turnMs = 2 * minute
/** Sources per query of the job, and number of queries in one run of it. */
const perLook = 100
const looks = 10
/** The least powerful role that may set up a source. Pulls act with its permissions. */
const weakest: Role = 'tenant_admin'

type PullDeps = RunDeps & {
  applyRun: ApplyRun
  outbound: Pick<Outbound, 'request'>
  openCredential: (source: SourceRow) => Promise<string>
  onError: (e: unknown) => void
}

/** Reads directories in the background, each on one replica, and updates users and groups accordingly. */
export function createPulls(deps: PullDeps) {
  const { db, now, applyRun, audit, notify, openCredential, onError } = deps
  const reading = createReading(deps)
  const toRead = createConcurrencyLimiter(readers)
  const toApply = createConcurrencyLimiter(appliers)
  /** Pulls that go on after the present work: others are read first, or a cancelled one still ends. */
  const again = new Set<string>()
  type Taken = Omit<Holding, 'signal'>

  /** Acting principal of a pull: the requester, or the job. */
  const behalfOf = ({ tenant, pull: { requested_by: by } }: Taken): ActingPrincipal => {
    const job = jobSource(tenant, pullJob)
    const source: Source = by ? { ...job, type: by.type as Source['type'], id: by.id, name: by.name } : job
    const mayAddToGroups = permissionsOfRoles([weakest]).has('groups:write')
    return { source, mayHandle: (role) => covers([weakest], role), mayAddToGroups }
  }

  async function take({ tenant_id: tenant, source_id }: queries.PullId): Promise<Taken | undefined> {
    const at = now()
    const taken = await db.inTenant(tenant, async (tx) => {
      const pull = await queries.takePull(tx, { tenant_id: tenant, source_id }, at)
      const source = await sources.findSource(tx, tenant, source_id)
      const run = pull && (await findDirectoryRun(tx, tenant, pull.run_id))
      return pull && source && run && { pull, source, run }
    })
    if (!taken) return undefined
    const { run, ...more } = taken
    const turnEnds = new Date(at.getTime() + turnMs)
    return { ...more, tenant, startedAt: run.started_at, turnEnds, progress: run.progress ?? noProgress() }
  }

  async function finish(h: Holding, kept: KeptReading | null): Promise<void> {
    h.signal.throwIfAborted()
    const { pull, source, tenant, startedAt } = h
    const content = await reading.contentOf(h)
    const snapshot = await readSnapshot(content)
    const write = async (tx: Tx, run: NewRun) => {
      const before = await sources.lockSource(tx, tenant, source.source_id)
      if (!before || !(await queries.endPull(tx, pull))) throw new LeaseLost()
      await queries.settleRun(tx, run, { progress: h.progress })
      await queries.deletePages(tx, tenant, source.source_id, kept?.pages ?? 0)
      const next_run_at = nextRun(before, now(), 0)
      await sources.setState(tx, tenant, source.source_id, { failures: 0, failing_since: null, next_run_at, kept })
      if (before.failing_since) await notify(tx, tenant, recoveredNotice(before))
    }
    const origin = {
      provider: source.provider,
      snapshot_id: encodeId('directory_run', pull.run_id),
      generatedAt: startedAt,
    }
    const { run_id: runId, confirmed } = pull
    const whole = { runId, origin, said: snapshot, content, startedAt, confirmed, write }
    const run = pull.dry_run ? await applyRun.dryRun(behalfOf(h), whole) : await applyRun.take(behalfOf(h), whole)
    if (run.run_id !== runId) throw new PullError('unstable', 'Another run with the same id was applied meanwhile.')
  }

  /**
   * Records a failure; nothing was applied. The run shows the reason, the source is retried later, and administrators
   * are notified once.
   */
  async function fail(h: Taken, e: unknown): Promise<void> {
    const { tenant, pull } = h
    const { source_id, run_id } = pull
    const failure = sentenceOf(e)
    await db.inTenant(tenant, async (tx) => {
      const source = await sources.lockSource(tx, tenant, source_id)
      if (!source || !(await queries.endPull(tx, pull))) return
      const at = now()
      await queries.saveProgress(tx, tenant, run_id, h.progress)
      await queries.endPulledRun(tx, tenant, run_id, { status: 'failed', failure, at })
      await queries.deletePages(tx, tenant, source_id, source.kept?.pages ?? 0)
      const failures = source.failures + 1
      const next_run_at = nextRun(source, at, failures)
      const failing_since = source.failing_since ?? at
      await sources.setState(tx, tenant, source_id, { failures, next_run_at, failing_since })
      const id = encodeId('directory_run', run_id)
      const target = { type: 'directory_run', id, name: source.provider }
      const fields = { run_id: id, provider: source.provider, status: 'failed' }
      await audit.record(tx, behalfOf(h).source, 'directory.synced', fields, { target, details: { reason: failure } })
      if (!source.failing_since) await notify(tx, tenant, failingNotice(run_id, source, failure))
    })
  }
  const release = ({ tenant, pull }: Taken) => db.inTenant(tenant, (tx) => queries.releasePull(tx, pull, now()))

  const nameOf = ({ tenant_id, source_id }: queries.PullId) => `${tenant_id} ${source_id}`
  const worker = createLeasedWorker<queries.PullId, Taken>({
    nameOf,
    limited: (pull, work) => toRead(pull.tenant_id, work),
    take,
    work: async (taken, signal) => {
      const h = { ...taken, signal }
      const { issuer, client_id: clientId } = h.source
      const kept = await reading.read(h, { issuer, clientId, credential: await openCredential(h.source) })
      await toApply(h.tenant, () => finish(h, kept))
    },
    // The next reader continues from the stored pages.
    release,
    failed: async (h, e) => {
      const isOurs = !(e instanceof PullError || (e instanceof AppError && e.code !== 'internal_error'))
      if (e instanceof TurnOver || (isOurs && isAway(e))) await release(h)
      else await fail(h, e)
      if (e instanceof TurnOver) again.add(nameOf(h.pull))
      else if (isOurs) onError(e)
    },
    ended: (pull) => {
      if (again.delete(nameOf(pull))) start(pull)
    },
    // If too many wait, the job starts it later.
    onError: (e) => {
      if (!(e instanceof AppError && e.code === 'rate_limited')) onError(e)
    },
  })

  /**
   * Starts reading, at once or when others have finished. A pull that another replica reads stays with that replica.
   */
  function start(pull: queries.PullId): void {
    const name = nameOf(pull)
    if (worker.keys().some((key) => nameOf(key) === name)) again.add(name)
    else void worker.start(pull)
  }
  const begin: Begin = createPullBegin({
    ...deps,
    started: (tenant_id, source_id) => start({ tenant_id, source_id }),
    ended: (run) => worker.lose((h) => h.pull.run_id === run),
  })

  return {
    ...begin,
    /** Starts due pulls, and continues pulls without a reader. Returns once they have started. */
    run: async (): Promise<void> => {
      const at = now()
      for (let n = 0; n < looks; n++) {
        const due = await db.acrossTenants((tx) => sources.dueSources(tx, at, perLook))
        for (const { tenant_id, source_id } of due) await begin.beginDue(tenant_id, source_id).catch(onError)
        if (due.length < perLook) break
      }
      for (const pull of await db.acrossTenants((tx) => queries.freePulls(tx, at, perLook))) start(pull)
    },
    /** Releases the pulls read here. Another replica continues them. */
    stop: worker.stop,
  }
}
export type Pulls = ReturnType<typeof createPulls>

function sentenceOf(e: unknown): string {
  if (e instanceof PullError) return e.message
  if (e instanceof AppError && e.code !== 'internal_error') return e.message
  return 'The run ended with an internal error: see the log of the server.'
}
