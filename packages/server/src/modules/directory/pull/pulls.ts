import type { Role } from '@holdfast/contract/vocabulary'
import { isAway } from '../../../db/away.ts'
import type { Tx } from '../../../db/database.ts'
import type { KeptReading } from '../../../db/tables/directory.ts'
import { jobSource, type Source, type TenantId } from '../../../kernel/actor.ts'
import { AppError } from '../../../kernel/app-error.ts'
import { createGate } from '../../../kernel/gate.ts'
import { encodeId, newUuid } from '../../../kernel/ids.ts'
import { hour } from '../../../kernel/time.ts'
import type { Outbound } from '../../../outbound/outbound.ts'
import { covers } from '../../access/index.ts'
import type { Behalf } from '../behalf.ts'
import { failingNotice, recoveredNotice } from '../notices.ts'
import type { NewRun } from '../runs.queries.ts'
import { findRun } from '../runs.queries.ts'
import { readSnapshot } from '../snapshot.ts'
import type { RunDeps, Taking } from '../taking.ts'
import { type Begin, createBegin, pullJob } from './begin.ts'
import { PullError } from './pull-error.ts'
import * as queries from './pulls.queries.ts'
import { claimMs, createReading, type Holding, LostClaim, noProgress } from './reading.ts'
import { nextRun } from './schedule.ts'
import type { SourceRow } from './sources.queries.ts'
import * as sources from './sources.queries.ts'

/** A reading that is not at its end by then does not come to it. */
const longestMs = 6 * hour
/** Looked at in one round of the job. */
const perRound = 100
/** Nobody sets up a source who may do less. */
const weakest: Role = 'tenant_admin'

type PullDeps = RunDeps & {
  taking: Taking
  outbound: Pick<Outbound, 'request'>
  openCredential: (source: SourceRow) => Promise<string>
  onError: (e: unknown) => void
}

/** Reads directories in the background, each on one replica, and brings users and groups to what they say. */
export function createPulls(deps: PullDeps) {
  const { db, now, taking, audit, notify, openCredential, onError } = deps
  const reading = createReading(deps)
  const gate = createGate({ perKey: 2, total: 4, waiting: 64 })
  const running = new Map<string, AbortController>()
  const works = new Map<string, Promise<void>>()
  let isStopping = false

  /** Where a change comes from that a pull makes: whoever asked for it, or the job. */
  const behalfOf = ({ tenant, pull: { requested_by: by } }: Holding): Behalf => {
    const job = jobSource(tenant, pullJob)
    const source: Source = by ? { ...job, type: by.type as Source['type'], id: by.id, name: by.name } : job
    return { source, mayHandle: (role) => covers([weakest], role) }
  }

  async function claim(tenant: TenantId, sourceId: string): Promise<Holding | undefined> {
    const by = newUuid()
    const at = now()
    const got = await db.inTenant(tenant, async (tx) => {
      const until = new Date(at.getTime() + claimMs)
      const pull = await queries.claimPull(tx, tenant, sourceId, { by, at, until })
      const source = await sources.findSource(tx, tenant, sourceId)
      const run = pull && (await findRun(tx, tenant, pull.run_id))
      return pull && source && run && { pull, source, run }
    })
    if (!got) return undefined
    const { pull, source, run } = got
    const abort = new AbortController()
    running.set(pull.run_id, abort)
    const { issuer, client_id: clientId } = source
    const place = { issuer, clientId, credential: await openCredential(source) }
    const progress = run.progress ?? noProgress()
    return { tenant, source, place, pull, by, startedAt: run.started_at, progress, signal: abort.signal }
  }

  async function finish(h: Holding, kept: KeptReading | null): Promise<void> {
    const { pull, source, tenant, startedAt } = h
    const content = await reading.contentOf(h)
    const said = await readSnapshot(content)
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
    const whole = { runId, origin, said, content, startedAt, confirmed, write }
    if (pull.dry_run) await taking.dryRun(behalfOf(h), whole)
    else await taking.take(behalfOf(h), whole)
  }

  /** Nothing was applied: the run says why, the source is tried again later, and administrators hear of it once. */
  async function fail(h: Holding, e: unknown): Promise<void> {
    const { tenant, pull, by } = h
    const { source_id, run_id } = pull
    const failure = sentenceOf(e)
    await db.inTenant(tenant, async (tx) => {
      const source = await sources.lockSource(tx, tenant, source_id)
      if (!source || !(await queries.endPull(tx, tenant, { ...pull, by }))) return
      const at = now()
      await queries.saveProgress(tx, tenant, run_id, h.progress)
      await queries.endRun(tx, tenant, run_id, { status: 'failed', failure, at })
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

  async function pullOne(tenant: TenantId, sourceId: string): Promise<void> {
    const h = await claim(tenant, sourceId)
    if (!h) return
    try {
      if (isStopping) return void (await letGo(h))
      if (now().getTime() - h.startedAt.getTime() > longestMs)
        throw new PullError('unstable', 'It was not at its end after six hours.')
      await finish(h, await reading.read(h))
    } catch (e) {
      if (e instanceof LostClaim || h.signal.reason instanceof LostClaim) return
      // Whoever comes next goes on from what is kept.
      if (isStopping || isAway(e)) await letGo(h)
      else await fail(h, e)
      if (!isStopping && !(e instanceof PullError || (e instanceof AppError && e.code !== 'internal_error'))) onError(e)
    } finally {
      running.delete(h.pull.run_id)
    }
  }

  /** At once, or when others are done; a pull that somebody else reads stays theirs. */
  function start(tenant: TenantId, source: string): void {
    const key = `${tenant} ${source}`
    if (isStopping || works.has(key)) return
    const work = gate(tenant, () => pullOne(tenant, source))
      // When too many wait, the job comes to it later.
      .catch((e) => (e instanceof AppError && e.code === 'rate_limited' ? undefined : onError(e)))
      .finally(() => works.delete(key))
    works.set(key, work)
  }
  const begin: Begin = createBegin({
    ...deps,
    started: start,
    ended: (run) => running.get(run)?.abort(new LostClaim('the pull was ended')),
  })

  return {
    ...begin,
    /** Begins what is due and goes on with what nobody reads; returns when that is on its way. */
    run: async (): Promise<void> => {
      const at = now()
      for (const { tenant_id, source_id } of await db.acrossTenants((tx) => sources.dueSources(tx, at, perRound)))
        await begin.beginDue(tenant_id, source_id).catch(onError)
      for (const { tenant_id, source_id } of await db.acrossTenants((tx) => queries.freePulls(tx, at, perRound)))
        start(tenant_id, source_id)
    },
    /** What is read here is let go; another replica goes on with it. */
    stop: async (): Promise<void> => {
      isStopping = true
      for (const abort of running.values()) abort.abort(new Error('this replica stops'))
      await Promise.all(works.values())
    },
  }
}
export type Pulls = ReturnType<typeof createPulls>

function sentenceOf(e: unknown): string {
  if (e instanceof PullError) return e.message
  if (e instanceof AppError && e.code !== 'internal_error') return e.message
  return 'A fault of this deployment ended it; its log says more.'
}
