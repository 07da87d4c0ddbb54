import type { Role } from '@holdfast/contract/vocabulary'
import type { Tx } from '../../../db/database.ts'
import type { KeptReading } from '../../../db/tables/directory.ts'
import { isAway } from '../../../db/unavailable.ts'
import { jobSource, type Source, type TenantId } from '../../../kernel/actor.ts'
import { AppError } from '../../../kernel/app-error.ts'
import { createConcurrencyLimiter } from '../../../kernel/concurrency-limiter.ts'
import { encodeId, newUuid } from '../../../kernel/ids.ts'
import { minute } from '../../../kernel/time.ts'
import type { Outbound } from '../../../outbound/outbound.ts'
import { covers, permissionsOfRoles } from '../../access/index.ts'
import type { ActingPrincipal } from '../acting-principal.ts'
import type { ApplyRun } from '../apply-run.ts'
import type { RunDeps } from '../deps.ts'
import { failingNotice, recoveredNotice } from '../notices.ts'
import type { NewRun } from '../runs.queries.ts'
import { findDirectoryRun } from '../runs.queries.ts'
import { readSnapshot } from '../snapshot.ts'
import { type Begin, createPullBegin, pullJob } from './begin.ts'
import { PullError } from './pull-error.ts'
import * as queries from './pulls.queries.ts'
import { claimMs, createReading, type Holding, LostClaim, noProgress, TurnOver } from './reading.ts'
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
  const running = new Map<string, AbortController>()
  const works = new Map<string, Promise<void>>()
  /** Pulls requested again while a cancelled one still ends. */
  const again = new Set<string>()
  let isStopping = false

  /** Acting principal of a pull: the requester, or the job. */
  const behalfOf = ({ tenant, pull: { requested_by: by } }: Holding): ActingPrincipal => {
    const job = jobSource(tenant, pullJob)
    const source: Source = by ? { ...job, type: by.type as Source['type'], id: by.id, name: by.name } : job
    const mayAddToGroups = permissionsOfRoles([weakest]).has('groups:write')
    return { source, mayHandle: (role) => covers([weakest], role), mayAddToGroups }
  }

  async function claim(tenant: TenantId, sourceId: string): Promise<Holding | undefined> {
    const by = newUuid()
    const at = now()
    const got = await db.inTenant(tenant, async (tx) => {
      const until = new Date(at.getTime() + claimMs)
      const pull = await queries.claimPull(tx, tenant, sourceId, { by, at, until })
      const source = await sources.findSource(tx, tenant, sourceId)
      const run = pull && (await findDirectoryRun(tx, tenant, pull.run_id))
      return pull && source && run && { pull, source, run }
    })
    if (!got) return undefined
    const { pull, source, run } = got
    const abort = new AbortController()
    running.set(pull.run_id, abort)
    const progress = run.progress ?? noProgress()
    const turnEnds = new Date(at.getTime() + turnMs)
    return { tenant, source, pull, by, startedAt: run.started_at, turnEnds, progress, signal: abort.signal }
  }

  async function finish(h: Holding, kept: KeptReading | null): Promise<void> {
    h.signal.throwIfAborted()
    const { pull, source, tenant, startedAt } = h
    const content = await reading.contentOf(h)
    const snapshot = await readSnapshot(content)
    const write = async (tx: Tx, run: NewRun) => {
      const before = await sources.lockSource(tx, tenant, source.source_id)
      if (!before || !(await queries.endPull(tx, tenant, { ...pull, by: h.by })))
        throw new LostClaim('the pull was ended')
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
    if (run.run_id !== runId)
      throw new PullError('unstable', 'A snapshot with the id of this run was accepted meanwhile.')
  }

  /**
   * Records a failure; nothing was applied. The run shows the reason, the source is retried later, and administrators
   * are notified once.
   */
  async function fail(h: Holding, e: unknown): Promise<void> {
    const { tenant, pull, by } = h
    const { source_id, run_id } = pull
    const failure = sentenceOf(e)
    await db.inTenant(tenant, async (tx) => {
      const source = await sources.lockSource(tx, tenant, source_id)
      if (!source || !(await queries.endPull(tx, tenant, { ...pull, by }))) return
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
  const letGo = (h: Holding) =>
    db.inTenant(h.tenant, (tx) => queries.keepClaim(tx, h.tenant, { ...h.pull, by: h.by }, now()))

  /** Returns true if its turn ended before the pull was complete. */
  async function pullOne(tenant: TenantId, sourceId: string): Promise<boolean> {
    const h = isStopping ? undefined : await claim(tenant, sourceId)
    if (!h) return false
    try {
      if (isStopping) throw stopping()
      const { issuer, client_id: clientId } = h.source
      const kept = await reading.read(h, { issuer, clientId, credential: await openCredential(h.source) })
      await toApply(tenant, () => finish(h, kept))
    } catch (e) {
      if (e instanceof LostClaim || h.signal.reason instanceof LostClaim) return false
      const isOurs = !(e instanceof PullError || (e instanceof AppError && e.code !== 'internal_error'))
      // The next reader continues from the stored pages.
      if (isStopping || e instanceof TurnOver || (isOurs && isAway(e))) await letGo(h)
      else await fail(h, e)
      if (!isStopping && e instanceof TurnOver) return true
      if (!isStopping && isOurs) onError(e)
    } finally {
      running.delete(h.pull.run_id)
    }
    return false
  }

  /**
   * Starts reading, at once or when others have finished. A pull that another replica reads stays with that replica.
   */
  function start(tenant: TenantId, source: string): void {
    const key = `${tenant} ${source}`
    if (isStopping) return
    if (works.has(key)) return void again.add(key)
    const work = toRead(tenant, () => pullOne(tenant, source))
      // If too many wait, the job starts it later.
      .catch((e) => {
        if (!(e instanceof AppError && e.code === 'rate_limited')) onError(e)
        return false
      })
      .then((goesOn) => {
        works.delete(key)
        if (again.delete(key) || goesOn) start(tenant, source)
      })
    works.set(key, work)
  }
  const begin: Begin = createPullBegin({
    ...deps,
    started: start,
    ended: (run) => running.get(run)?.abort(new LostClaim('the pull was ended')),
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
      for (const { tenant_id, source_id } of await db.acrossTenants((tx) => queries.freePulls(tx, at, perLook)))
        start(tenant_id, source_id)
    },
    /** Releases the pulls read here. Another replica continues them. */
    stop: async (): Promise<void> => {
      isStopping = true
      for (const abort of running.values()) abort.abort(stopping())
      await Promise.all(works.values())
    },
  }
}
export type Pulls = ReturnType<typeof createPulls>

const stopping = () => new Error('this replica stops')

function sentenceOf(e: unknown): string {
  if (e instanceof PullError) return e.message
  if (e instanceof AppError && e.code !== 'internal_error') return e.message
  return 'It ended with an internal error; see the log of the server.'
}
