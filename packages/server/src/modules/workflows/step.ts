import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { pageItems } from '@holdfast/contract/limits'
import * as claims from '../../db/claims.ts'
import { type Tx, UnknownOutcome } from '../../db/database.ts'
import type { StoredCall } from '../../db/tables/workflows.ts'
import { isAway } from '../../db/unavailable.ts'
import { LeaseLost } from '../../jobs/leased-worker.ts'
import type { Actor, IdempotencyClaim } from '../../kernel/actor.ts'
import { AppError } from '../../kernel/app-error.ts'
import { encodeId, newUuid } from '../../kernel/ids.ts'
import { second } from '../../kernel/time.ts'
import { confirmation, purge } from './definition.ts'
import type { WorkflowsDeps } from './deps.ts'
import type { ActorOf } from './requester.ts'
import type { Rights } from './rights.ts'
import type { StepOutcome, StepRow, WorkflowRunRow } from './runs.queries.ts'
import { walk } from './steps.ts'
import { isReversible, type RecordedEvent, resultInRecord, resultOf, sealedResultOf, undoOf } from './takes-back.ts'

/** Interval between checks of heartbeats, in ms: short at first, because most gateways confirm at once. */
const confirmEveryMs = { first: 100, later: second }
const firstMs = 3 * second
/** Time limit in ms. A gateway that a change does not concern confirms with its next pull. */
const confirmWithinMs = 60 * second
/** Attempts before a step fails, for errors that are neither a refusal nor an outage. */
const mostAttempts = 5

/** Writes of a step before its end, while this replica has the lease of the run. */
type StepWrites = {
  /** Stores the preliminary result. */
  note: (result: Record<string, unknown>) => Promise<void>
  /** @throws LeaseLost if another replica has the lease */
  whileLeased: <T>(write: (tx: Tx) => Promise<T>) => Promise<T>
}

/**
 * Carries out one step. The change settles a claim in its own transaction, like that of an Idempotency-Key. So it is
 * made once, whatever process ends in between. Only the holder of the run's lease takes the claim over, so a former
 * holder that stalled can not take it from the next one. An error that would refuse a request fails the step. An outage
 * throws, and the step is tried again.
 */
export function createCarryOut({
  db,
  perform,
  confirmations,
  purgeNow,
  actorOf,
  rights,
}: Pick<WorkflowsDeps, 'db' | 'perform' | 'confirmations' | 'purgeNow'> & { actorOf: ActorOf; rights: Rights }) {
  async function once(
    actor: Actor,
    run: WorkflowRunRow,
    { step, input }: StepRow,
    { whileLeased }: StepWrites,
  ): Promise<StepOutcome> {
    const workflow_run_id = encodeId('workflow_run', run.workflow_run_id)
    const principal = `workflow_run:${workflow_run_id}`
    const claim: IdempotencyClaim = { tenantId: run.tenant_id, principal, key: `step-${step}`, attempt: newUuid() }
    const fingerprint = createHash('sha256').update(JSON.stringify(input)).digest()
    const wasMade = await whileLeased((tx) => claims.takeOver(tx, claim, fingerprint))
    if (wasMade) return foundMade(actor, input, whileLeased)
    try {
      const said = await perform().run({ ...actor, claim }, input)
      return { status: 'succeeded', result: await sealedResultOf(input, said), undo: undoOf(input, said) }
    } finally {
      // A settled claim stays. The claim of a call without effect can be used again.
      await db.inTenant(run.tenant_id, (tx) => claims.drop(tx, claim)).catch(() => {})
    }
  }
  /**
   * The change was made before this replica took over, and its answer is lost. It is not repeated, because somebody may
   * have changed the object since. The effects are read from the audit log.
   */
  async function foundMade(
    actor: Actor,
    input: StoredCall,
    whileLeased: StepWrites['whileLeased'],
  ): Promise<StepOutcome> {
    const note = { made_before: true }
    // The secret in the answer is lost, so a new one replaces it. A former holder must not replace that one in turn.
    if (input.recipient) {
      await whileLeased(async () => {})
      const result = await sealedResultOf(input, await perform().run({ ...actor, claim: null }, input))
      return { status: 'succeeded', result: { ...result, ...note }, undo: [] }
    }
    if (!isReversible(input)) return { status: 'succeeded', result: note, undo: [] }
    const events: RecordedEvent[] = []
    await walk(
      (cursor) =>
        perform().run(
          { ...actor, claim: null },
          {
            operation: 'listAuditEvents',
            query: { request_id: actor.requestId, limit: pageItems.most, ...(cursor !== undefined && { cursor }) },
          },
        ) as Promise<{ items: RecordedEvent[]; next_cursor: string | null }>,
      (event) => {
        events.push(event)
        return 'go on'
      },
    )
    const said = resultInRecord(input, events)
    const undo = undoOf(input, said)
    // Retried, because an event gets its sequence number within a second or two.
    if (undo.length === 0) throw new Error('the audit log does not yet have the events of a step')
    return { status: 'succeeded', result: { ...resultOf(said), ...note }, undo }
  }

  /** Waits for the changes up to the beginning of this step. Later changes are not its concern. */
  async function confirm(run: WorkflowRunRow, signal: AbortSignal, { note }: StepWrites): Promise<StepOutcome> {
    const seq = await confirmations.newestTold(run.tenant_id, run.seq_before)
    if (seq === null) return { status: 'succeeded', result: { seq }, undo: [] }
    await note({ seq })
    for (const began = performance.now(); ; ) {
      const { confirmed, waiting, unreachable } = await confirmations.of(run.tenant_id, seq)
      const named = unreachable.slice(0, 100).map(({ id }) => encodeId('gateway', id))
      if (waiting.length === 0) return { status: 'succeeded', result: { seq, confirmed, unreachable: named }, undo: [] }
      const took = performance.now() - began
      if (took > confirmWithinMs) return { status: 'failed', error: notYet(waiting.map((g) => g.name)) }
      await delay(took < firstMs ? confirmEveryMs.first : confirmEveryMs.later, undefined, { signal })
    }
  }

  return async (run: WorkflowRunRow, step: StepRow, signal: AbortSignal, writes: StepWrites): Promise<StepOutcome> => {
    const { input } = step
    try {
      if (input.operation === confirmation.operation) return await confirm(run, signal, writes)
      const actor = await actorOf(run)
      if (!actor) return { status: 'failed', error: 'the requester no longer has access' }
      const permission = rights.lacks(actor, input)
      if (permission) return { status: 'failed', error: `the requester no longer has the permission ${permission}` }
      if (input.operation === purge.operation) {
        const purged = Object.fromEntries(await purgeNow(run.tenant_id, signal))
        return { status: 'succeeded', result: { purged }, undo: [] }
      }
      return await once(actor, run, step, writes)
    } catch (e) {
      if (e instanceof LeaseLost) throw e
      if (e instanceof AppError && e.code !== 'internal_error') return { status: 'failed', error: e.message }
      const isLater = signal.aborted || e instanceof UnknownOutcome || isAway(e) || step.attempts < mostAttempts
      if (isLater) throw e
      return { status: 'failed', error: 'internal error: see the log of the server' }
    }
  }
}
export type CarryOut = ReturnType<typeof createCarryOut>

function notYet(gateways: readonly string[]): string {
  const more = gateways.length > 10 ? ' and others' : ''
  return `${gateways.length} gateways have not confirmed that they enforce the change: ${gateways.slice(0, 10).join(', ')}${more}`
}
