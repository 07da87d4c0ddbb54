import type { TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import { confirmation } from './definition.ts'
import type { WorkflowsDeps } from './deps.ts'
import type { StepRow } from './runs.queries.ts'
import type { ShownConfirmations } from './view.ts'

/** Most gateways listed. The counts cover all of them. */
const shownAtMost = 200

/** Returns the gateways that the running step waits for, in their present state. At most one step runs. */
export const createConfirmationWaits =
  (confirmations: WorkflowsDeps['confirmations']) =>
  async (tenant: TenantId, steps: readonly StepRow[]): Promise<ReadonlyMap<number, ShownConfirmations>> => {
    const step = steps.find((s) => s.status === 'running' && s.action === confirmation.operation)
    // The driver stores the number as soon as the wait begins.
    const seq = step?.result.seq
    if (!step || typeof seq !== 'number') return new Map()
    const found = await confirmations.each(tenant, seq)
    const confirmed = found.filter((g) => g.isConfirmed)
    const waiting = found.filter((g) => !g.isConfirmed && g.isReachable)
    const down = found.filter((g) => !g.isConfirmed && !g.isReachable)
    return new Map([
      [
        step.step,
        {
          seq,
          confirmed: confirmed.length,
          waiting: waiting.length,
          down: down.length,
          gateways: [...waiting, ...down, ...confirmed].slice(0, shownAtMost).map((g) => ({
            gateway_id: encodeId('gateway', g.id),
            gateway_name: g.name,
            state: g.isReachable ? ('reachable' as const) : ('down' as const),
            confirmed_at: g.confirmedAt?.toISOString() ?? null,
          })),
        },
      ],
    ])
  }
