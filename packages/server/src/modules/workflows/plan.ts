import { namedObjects } from '@holdfast/contract/limits'
import { Closed } from '@holdfast/contract/schema'
import type { WorkflowKind } from '@holdfast/contract/vocabulary'
import type { StoredCall } from '../../db/tables/workflows.ts'
import type { Actor } from '../../kernel/actor.ts'
import { fail, failField } from '../../kernel/app-error.ts'
import { idOf } from '../../kernel/ids.ts'
import type { Definition, ReadCurrent, RunChecks, WorkflowStep } from './definition.ts'
import type { WorkflowsDeps } from './deps.ts'
import { playbooks } from './playbooks.ts'
import type { Rights } from './rights.ts'
import { isReversible } from './takes-back.ts'
import { workflows } from './workflows.ts'

export type Planned = { definition: Definition; secondApprover: boolean; steps: readonly WorkflowStep[] }

type PlansDeps = Pick<WorkflowsDeps, 'perform' | 'requireStepUp' | 'requireStoppable' | 'now'> & { rights: Rights }

/** Plans of each workflow for a caller, and the check of the caller's permissions. */
export function createWorkflowPlans({ perform, rights, requireStepUp, requireStoppable, now }: PlansDeps) {
  const all: readonly Definition[] = [...workflows(now), ...playbooks]
  const shapes = new Map(all.map((d) => [d, Closed({ params: d.params })]))
  const ofKind = (kind: WorkflowKind) => all.filter((d) => d.kind === kind)

  /**
   * Refuses the whole run before anything is done, so that nobody uses a workflow for a step that they may not do
   * themselves.
   */
  async function requireMay(actor: Actor, calls: readonly StoredCall[], isReal: boolean): Promise<void> {
    for (const call of calls) {
      const permission = rights.lacks(actor, call)
      if (permission) fail('forbidden', `the step ${call.operation} needs the permission ${permission}`)
    }
    if (isReal && calls.some(rights.needsStepUp)) await requireStepUp(actor)
  }

  const lookAs =
    (actor: Actor): ReadCurrent =>
    async (operation, input) => {
      const call = { operation, ...(input as object) }
      const permission = rights.lacks(actor, call)
      if (permission) return fail('forbidden', `this needs the permission ${permission}`)
      // The Idempotency-Key of the request does not cover this read.
      return (await perform().run({ ...actor, claim: null }, call)) as never
    }

  const checksAs = (actor: Actor): RunChecks => ({
    stoppable: async (userId) => {
      const warnings = await requireStoppable(actor, idOf('user', userId))
      return warnings.map((w) => `. ${w.message}`).join('')
    },
  })

  return {
    ofKind,
    requireMay,
    plan: async (
      actor: Actor,
      kind: WorkflowKind,
      { name, params, reason }: { name: string; params: Record<string, unknown>; reason: string | undefined },
    ): Promise<Planned> => {
      const found = ofKind(kind).find((d) => d.name === name)
      const names = ofKind(kind).map((d) => d.name)
      const definition = found ?? failField(kind, `must be one of ${names.join(', ')}`)
      perform().validate(shapes.get(definition)!, { params })
      const { secondApprover: asks } = definition
      const secondApprover = typeof asks === 'function' ? asks(params as never) : asks === 'always'
      const steps = await definition.steps(params as never, lookAs(actor), reason, checksAs(actor))
      return { definition, secondApprover, steps }
    },
  }
}
export type WorkflowPlans = ReturnType<typeof createWorkflowPlans>

/** Returns a step as it is stored. */
export const stored = ({ call, summary, affects, onError }: WorkflowStep) => ({
  action: call.operation,
  summary,
  input: call,
  affects: affects.slice(0, namedObjects),
  affects_count: affects.length,
  on_error: onError,
  reversible: isReversible(call),
})
