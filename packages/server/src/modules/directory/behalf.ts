import type { Role } from '@holdfast/contract/vocabulary'
import { type Actor, permissionsOf, type Source } from '../../kernel/actor.ts'
import { mayHandle } from '../access/index.ts'

/** On whose behalf a run changes users: where it comes from, and whom it may touch. */
export type Behalf = { source: Source; mayHandle: (role: Role) => boolean; mayAddToGroups: boolean }

export const behalfOf = (actor: Actor): Behalf => ({
  source: actor,
  mayHandle: (role) => mayHandle(actor, role),
  mayAddToGroups: permissionsOf(actor).has('groups:write'),
})
