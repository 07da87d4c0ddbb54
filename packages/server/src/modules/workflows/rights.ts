import type { Permission } from '@holdfast/contract/vocabulary'
import type { StoredCall } from '../../db/tables/workflows.ts'
import { type Actor, permissionsOf } from '../../kernel/actor.ts'
import { confirmation, purge } from './definition.ts'
import type { WorkflowsDeps } from './deps.ts'

/** Rights for steps that are not operations of the contract. A purge needs the same as a change of retention. */
const own: Readonly<Record<string, { permission: Permission | undefined; stepUp: boolean }>> = {
  [confirmation.operation]: { permission: undefined, stepUp: false },
  [purge.operation]: { permission: 'audit:write', stepUp: true },
}

/** Rights that a step needs, whether it is an operation of the contract or not. */
export const createStepRights = ({ perform }: Pick<WorkflowsDeps, 'perform'>) => ({
  /** Returns a permission that the call needs and the actor lacks. */
  lacks: (actor: Actor, call: StoredCall): string | undefined => {
    const rule = own[call.operation]
    if (!rule) return perform().lacks(actor, call)
    return rule.permission && !permissionsOf(actor).has(rule.permission) ? rule.permission : undefined
  },
  needsStepUp: (call: StoredCall): boolean => own[call.operation]?.stepUp ?? perform().needsStepUp(call),
})
export type Rights = ReturnType<typeof createStepRights>
