import { background } from '../../db/database.ts'
import type { Source, TenantId } from '../../kernel/actor.ts'
import { createConcurrencyLimiter } from '../../kernel/concurrency.ts'
import { encodeId, newUuid } from '../../kernel/ids.ts'
import { second } from '../../kernel/time.ts'
import type { WorkflowsDeps } from './deps.ts'
import * as due from './due.queries.ts'
import type { createEnd } from './end.ts'
import * as queries from './runs.queries.ts'
import { type Lease, leaseMs, type WorkflowRunRow } from './runs.queries.ts'
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
  const working = new Map<string, Promise<void>>()
  const watched = new Map<string, NodeJS.Timeout>()
  const stopping = new AbortController()

  /**
   * Begins the next step of a run and returns it. Undefined if there is none, or if another replica has the lease. Ends
   * the run after its last step.
   */
  const begin = (lease: Lease) =>
    db.inTenant(lease.tenant, async (tx) => {
      const run = await queries.keepRun(tx, lease)
      if (!run) return undefined
      const stand = await queries.standOf(tx, lease)
      const left = stand.filter((s) => s.status === 'pending')
      const isCancelled = run.cancelled_at !== null && left.length > 0
      const isStopped = isCancelled || stand.some((s) => s.status === 'failed' && s.on_error === 'stop')
      const next = stand.find((s) => s.status === 'running') ?? (isStopped ? undefined : left[0])
      signals.tellAfter(tx, lease.tenant, 'workflow_run', [lease.id])
      if (next) return queries.beginStep(tx, lease, next.step, now())
      const ended = stand.some((s) => s.status === 'failed') ? 'failed' : 'succeeded'
      const steps = await queries.stepsOf(tx, lease.tenant, lease.id)
      await end(tx, sourceOf(run), { run, steps }, isCancelled ? 'cancelled' : ended)
      return undefined
    })

  const note = (lease: Lease, step: number, result: Record<string, unknown>): Promise<void> =>
    db.inTenant(lease.tenant, async (tx) => {
      if (await queries.keepRun(tx, lease)) await queries.noteResult(tx, lease, step, result)
    })

  async function carry(lease: Lease, run: WorkflowRunRow): Promise<void> {
    for (;;) {
      stopping.signal.throwIfAborted()
      const step = await begin(lease)
      if (!step) return
      const { step: number } = step
      const outcome = await carryOut(run, step, stopping.signal, (result) => note(lease, number, result))
      const isOurs = await db.inTenant(lease.tenant, async (tx) => {
        if (!(await queries.keepRun(tx, lease))) return false
        await queries.endStep(tx, lease, number, outcome, now())
        signals.tellAfter(tx, lease.tenant, 'workflow_run', [lease.id])
        return true
      })
      if (!isOurs) return
    }
  }

  async function drive(tenant: TenantId, id: string): Promise<void> {
    if (stopping.signal.aborted) return
    const lease: Lease = { tenant, id, by: newUuid() }
    const run = await db.inTenant(tenant, (tx) => queries.claimRun(tx, lease))
    if (!run) return
    const keep = () => db.inTenant(tenant, (tx) => queries.keepRun(tx, lease)).then(() => {}, onError)
    const renewing = setInterval(() => void keep(), leaseMs / 3)
    try {
      await carry(lease, run)
    } catch (e) {
      // The next holder of the lease continues: at once after a shutdown, a little later after a fault.
      const wait = stopping.signal.aborted ? 0 : second
      await db.inTenant(tenant, (tx) => queries.keepRun(tx, lease, wait)).catch(onError)
      if (!stopping.signal.aborted) onError(e)
    } finally {
      clearInterval(renewing)
    }
  }

  /** Resolves when this replica has done everything it can for the run. Never rejects. */
  function start(tenant: TenantId, id: string): Promise<void> {
    const before = working.get(id)
    if (before || stopping.signal.aborted) return before ?? Promise.resolve()
    const work = gate(tenant, () => drive(tenant, id))
      .catch(onError)
      .finally(() => working.delete(id))
    working.set(id, work)
    return work
  }

  /** Checks the run after each lease period until it has ended. */
  function watch(tenant: TenantId, id: string): void {
    if (watched.has(id) || watched.size >= mostWatched || stopping.signal.aborted) return
    const look = async () => {
      watched.delete(id)
      if (stopping.signal.aborted) return
      await start(tenant, id)
      const run = await db.inTenant(tenant, (tx) => queries.findWorkflowRun(tx, tenant, id))
      if (run?.status === 'running') watch(tenant, id)
    }
    const timer = setTimeout(() => void look().catch(onError), leaseMs * (1 + Math.random() / 10))
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
      for (const run of await db.acrossTenants((tx) => due.unapprovedRuns(tx, perLook), background))
        await runs.endUnapproved(run.tenant_id, run.workflow_run_id).catch(onError)
      for (const run of await db.acrossTenants((tx) => due.runsToUndo(tx, perLook), background))
        await runs.undoDue(run.tenant_id, run.workflow_run_id).catch(onError)
      for (const run of await db.acrossTenants((tx) => due.openRuns(tx, perLook), background))
        if (run.is_free) void start(run.tenant_id, run.workflow_run_id)
        else watch(run.tenant_id, run.workflow_run_id)
    },
    /** Called at shutdown. A run is released after its current step, and another replica continues it. */
    letGo: (): void => {
      stopping.abort()
      for (const timer of watched.values()) clearTimeout(timer)
    },
    /** Called after `letGo`. Resolves when no run is active here. */
    stop: async (): Promise<void> => void (await Promise.all(working.values())),
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
