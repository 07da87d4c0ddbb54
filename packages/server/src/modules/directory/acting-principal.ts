import type { Role } from '@holdfast/contract/vocabulary'
import { type Actor, permissionsOf, type Source } from '../../kernel/actor.ts'
import { mayHandle } from '../access/index.ts'

/** Acting principal of a run: the source of the changes, and the users that it may change. */
export type ActingPrincipal = { source: Source; mayHandle: (role: Role) => boolean; mayAddToGroups: boolean }

export const behalfOf = (actor: Actor): ActingPrincipal => ({
  source: actor,
  mayHandle: (role) => mayHandle(actor, role),
  mayAddToGroups: permissionsOf(actor).has('groups:write'),
})
