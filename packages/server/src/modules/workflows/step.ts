import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { isAway } from '../../db/away.ts'
import * as claims from '../../db/claims.ts'
import { UnknownOutcome } from '../../db/database.ts'
import type { StoredCall } from '../../db/tables/operations.ts'
import type { Actor, Claim } from '../../kernel/actor.ts'
import { AppError } from '../../kernel/app-error.ts'
import { encodeId, newUuid } from '../../kernel/ids.ts'
import { second } from '../../kernel/time.ts'
import { confirmation, purge } from './definition.ts'
import type { WorkflowsDeps } from './deps.ts'
import type { ActorOf } from './requester.ts'
import type { Rights } from './rights.ts'
import type { Outcome, RunRow, StepRow } from './runs.queries.ts'
import { pageSize, walk } from './steps.ts'
import { isReversible, type Recorded, resultOf, saidBy, sealedResultOf, undoOf } from './takes-back.ts'

/** How often heartbeats are looked at: often at first, since most gateways say so at once. */
const confirmEveryMs = { first: 100, later: second }
const firstMs = 3 * second
/** A gateway that a change does not concern says so with its next pull. */
const confirmWithinMs = 60 * second
/** After so many attempts what is no refusal and no outage is given up. */
const mostAttempts = 5

/** Keeps what a step has found out before its end. */
type Note = (result: Record<string, unknown>) => Promise<void>

/**
 * Carries out one step. The change settles a claim in its own transaction, as that of an Idempotency-Key does: whatever
 * ends in between, and whoever else believes to carry out the same step, it is made once. What a request would be
 * refused with fails the step; an outage throws, and the step is tried again.
 */
export function createCarryOut({
  db,
  perform,
  confirmations,
  purgeNow,
  actorOf,
  rights,
}: Pick<WorkflowsDeps, 'db' | 'perform' | 'confirmations' | 'purgeNow'> & { actorOf: ActorOf; rights: Rights }) {
  async function once(actor: Actor, run: RunRow, { step, input }: StepRow): Promise<Outcome> {
    const workflow_run_id = encodeId('workflow_run', run.workflow_run_id)
    const principal = `workflow_run:${workflow_run_id}`
    const claim: Claim = { tenantId: run.tenant_id, principal, key: `step-${step}`, attempt: newUuid() }
    const fingerprint = createHash('sha256').update(JSON.stringify(input)).digest()
    const wasMade = await db.inTenant(run.tenant_id, (tx) => claims.takeOver(tx, claim, fingerprint))
    if (wasMade) return foundMade(actor, input)
    try {
      const said = await perform().run({ ...actor, claim }, input)
      return { status: 'succeeded', result: await sealedResultOf(input, said), undo: undoOf(input, said) }
    } finally {
      // What was settled stays; what changed nothing is free to be asked again.
      await db.inTenant(run.tenant_id, (tx) => claims.drop(tx, claim)).catch(() => {})
    }
  }
  /**
   * It was made before this replica came to it, and what it answered is not to be had any more. Nothing is asked for
   * again, since somebody may have changed it since: the record has what the step did.
   */
  async function foundMade(actor: Actor, input: StoredCall): Promise<Outcome> {
    const note = { made_before: true }
    // What it answered went with the process: the next one takes the place of the secret that nobody has.
    if (input.recipient) {
      const result = await sealedResultOf(input, await perform().run({ ...actor, claim: null }, input))
      return { status: 'succeeded', result: { ...result, ...note }, undo: [] }
    }
    if (!isReversible(input)) return { status: 'succeeded', result: note, undo: [] }
    const events: Recorded[] = []
    await walk(
      (cursor) =>
        perform().run(
          { ...actor, claim: null },
          {
            operation: 'listAuditEvents',
            query: { request_id: actor.requestId, limit: pageSize, ...(cursor !== undefined && { cursor }) },
          },
        ) as Promise<{ items: Recorded[]; next_cursor: string | null }>,
      (event) => {
        events.push(event)
        return 'go on'
      },
    )
    const said = saidBy(input, events)
    const undo = undoOf(input, said)
    // Tried again: an event has its place within a second or two.
    if (undo.length === 0) throw new Error('the record does not have yet what a step has changed')
    return { status: 'succeeded', result: { ...resultOf(said), ...note }, undo }
  }

  /** Of what is there as it begins: what is changed later is waited for by whoever changes it. */
  async function confirm(run: RunRow, signal: AbortSignal, note: Note): Promise<Outcome> {
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

  return async (run: RunRow, step: StepRow, signal: AbortSignal, note: Note): Promise<Outcome> => {
    const { input } = step
    try {
      if (input.operation === confirmation.operation) return await confirm(run, signal, note)
      const actor = await actorOf(run)
      if (!actor) return { status: 'failed', error: 'whoever asked for it may do nothing any more' }
      const permission = rights.lacks(actor, input)
      if (permission)
        return { status: 'failed', error: `whoever asked for it has no permission ${permission} any more` }
      if (input.operation === purge.operation) {
        const purged = Object.fromEntries(await purgeNow(run.tenant_id, signal))
        return { status: 'succeeded', result: { purged }, undo: [] }
      }
      return await once(actor, run, step)
    } catch (e) {
      if (e instanceof AppError && e.code !== 'internal_error') return { status: 'failed', error: e.message }
      const isLater = signal.aborted || e instanceof UnknownOutcome || isAway(e) || step.attempts < mostAttempts
      if (isLater) throw e
      return { status: 'failed', error: 'a fault of this deployment; its log says more' }
    }
  }
}
export type CarryOut = ReturnType<typeof createCarryOut>

function notYet(gateways: readonly string[]): string {
  const more = gateways.length > 10 ? ' and others' : ''
  return `${gateways.length} gateways have not said that they enforce it: ${gateways.slice(0, 10).join(', ')}${more}`
}
