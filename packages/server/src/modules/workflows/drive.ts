import { background, type Tx } from '../../db/database.ts'
import { createLeasedWorker, LeaseLost } from '../../jobs/leased-worker.ts'
import type { Source, TenantId } from '../../kernel/actor.ts'
import { createConcurrencyLimiter } from '../../kernel/concurrency.ts'
import { encodeId } from '../../kernel/ids.ts'
import { second } from '../../kernel/time.ts'
import type { WorkflowsDeps } from './deps.ts'
import type { createEnd } from './end.ts'
import type { LeasedRun, WorkflowRunId, WorkflowRunRow } from './runs.queries.ts'
import * as queries from './runs.queries.ts'
import type { WorkflowRuns } from './runs.ts'
import type { CarryOut } from './step.ts'

const mostWatched = 1000
const perLook = 100
/**
 * Most runs carried out at once. A run mostly waits for gateways. One that finishes at once must not be queued behind
 * those.
 */
const atOnce = { perKey: 16, total: 64, waiting: 256 }

type DriveDeps = Pick<WorkflowsDeps, 'db' | 'changes' | 'now' | 'onError' | 'signals'> & {
  carryOut: CarryOut
  end: ReturnType<typeof createEnd>
  runs: Pick<WorkflowRuns, 'endUnapproved' | 'undoDue'>
}

/**
 * Carries out runs. One replica at a time holds the lease of a run, which is a row, not an open transaction. Every
 * replica is notified of a run, and checks it again after the time in which its lease should have been renewed.
 */
export function createDriver({ db, changes, now, onError, signals, carryOut, end, runs }: DriveDeps) {
  const gate = createConcurrencyLimiter(atOnce)
  const watched = new Map<string, NodeJS.Timeout>()
  const tell = (tx: Tx, { tenant_id, workflow_run_id }: LeasedRun) =>
    signals.tellAfter(tx, tenant_id, 'workflow_run', [workflow_run_id])

  /**
   * Begins the next step of a run and returns it. Undefined if there is none, or if another replica has the lease. Ends
   * the run after its last step.
   */
  const begin = (leased: LeasedRun) =>
    db.inTenant(leased.tenant_id, async (tx) => {
      const run = await queries.renewRun(tx, leased)
      if (!run) return undefined
      const stand = await queries.standOf(tx, leased)
      const left = stand.filter((s) => s.status === 'pending')
      const isCancelled = run.cancelled_at !== null && left.length > 0
      const isStopped = isCancelled || stand.some((s) => s.status === 'failed' && s.on_error === 'stop')
      const next = stand.find((s) => s.status === 'running') ?? (isStopped ? undefined : left[0])
      tell(tx, leased)
      if (next) return queries.beginStep(tx, leased, next.step, now())
      const ended = stand.some((s) => s.status === 'failed') ? 'failed' : 'succeeded'
      const steps = await queries.stepsOf(tx, leased.tenant_id, leased.workflow_run_id)
      await end(tx, sourceOf(run), { run, steps }, isCancelled ? 'cancelled' : ended)
      return undefined
    })

  /** Writes while this replica has the lease, which it renews. Throws `LeaseLost` if it has not. */
  const whileLeased = <T>(leased: LeasedRun, write: (tx: Tx) => Promise<T>): Promise<T> =>
    db.inTenant(leased.tenant_id, async (tx) => {
      if (!(await queries.renewRun(tx, leased))) throw new LeaseLost()
      return write(tx)
    })

  async function carry(leased: LeasedRun, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      const step = await begin(leased)
      if (!step) return
      const { step: number } = step
      const outcome = await carryOut(leased, step, signal, {
        note: async (result) => {
          await whileLeased(leased, (tx) => queries.noteResult(tx, leased, number, result))
        },
        whileLeased: (write) => whileLeased(leased, write),
      })
      await whileLeased(leased, async (tx) => {
        await queries.endStep(tx, leased, number, outcome, now())
        tell(tx, leased)
      })
    }
  }

  const release = (run: LeasedRun, wait?: number) =>
    db.inTenant(run.tenant_id, (tx) => queries.releaseRun(tx, run, undefined, wait)).catch(onError)
  const worker = createLeasedWorker<WorkflowRunId, LeasedRun>({
    nameOf: (run) => run.workflow_run_id,
    limited: (run, work) => gate(run.tenant_id, work),
    take: (run) => db.inTenant(run.tenant_id, (tx) => queries.takeRun(tx, run)),
    renewal: {
      leaseMs: queries.runLeaseMs,
      renew: async (run) => (await db.inTenant(run.tenant_id, (tx) => queries.renewRun(tx, run))) !== undefined,
    },
    work: carry,
    // The next holder of the lease continues: at once after a shutdown, a little later after a fault.
    release: (run) => release(run),
    failed: async (run, e) => {
      await release(run, second)
      onError(e)
    },
    onError,
  })

  /** Resolves when this replica has done everything it can for the run. Never rejects. */
  const start = (tenant_id: TenantId, workflow_run_id: string): Promise<void> =>
    worker.start({ tenant_id, workflow_run_id }).catch(() => {})

  /** Checks the run after each lease period until it has ended. */
  function watch(tenant: TenantId, id: string): void {
    if (watched.has(id) || watched.size >= mostWatched || worker.signal.aborted) return
    const look = async () => {
      watched.delete(id)
      if (worker.signal.aborted) return
      await start(tenant, id)
      const run = await db.inTenant(tenant, (tx) => queries.findWorkflowRun(tx, tenant, id))
      if (run?.status === 'running') watch(tenant, id)
    }
    const timer = setTimeout(() => void look().catch(onError), queries.runLeaseMs * (1 + Math.random() / 10))
    watched.set(id, timer.unref())
  }
  changes.listen('values', {
    changed: (tenant, list) => {
      for (const { kind, subject } of list) if (kind === 'workflow_run') watch(tenant, subject)
    },
    forgotten: () => {},
  })

  return {
    start,
    /**
     * Continues runs without a lease, watches the others, and handles runs that are due: unapproved ones, and those to
     * undo.
     */
    run: async (): Promise<void> => {
      for (const run of await db.acrossTenants((tx) => queries.unapprovedRuns(tx, perLook), background))
        await runs.endUnapproved(run.tenant_id, run.workflow_run_id).catch(onError)
      for (const run of await db.acrossTenants((tx) => queries.runsToUndo(tx, perLook), background))
        await runs.undoDue(run.tenant_id, run.workflow_run_id).catch(onError)
      for (const run of await db.acrossTenants((tx) => queries.openRuns(tx, perLook), background))
        if (run.is_free) void start(run.tenant_id, run.workflow_run_id)
        else watch(run.tenant_id, run.workflow_run_id)
    },
    /** Called at shutdown. A run is released after its current step, and another replica continues it. */
    letGo: (): void => {
      void worker.stop()
      for (const timer of watched.values()) clearTimeout(timer)
    },
    /** Called after `letGo`. Resolves when no run is active here. */
    stop: worker.stop,
  }
}
export type Driver = ReturnType<typeof createDriver>

/** Returns the source for the audit event of the end of a run: its requester. */
const sourceOf = ({ tenant_id, workflow_run_id, requested_by: by }: WorkflowRunRow): Source => ({
  tenantId: tenant_id,
  type: by.type as Source['type'],
  id: by.id,
  name: by.name,
  origin: 'job',
  sourceIp: by.source_ip,
  userAgent: by.user_agent,
  requestId: encodeId('workflow_run', workflow_run_id),
  claim: null,
})
