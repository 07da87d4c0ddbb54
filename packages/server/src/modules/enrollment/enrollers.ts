import type { Actor } from '../../kernel/actor.ts'
import type { Enroller, Federation } from '../federation/index.ts'
import { requireAllowedAddress } from './enroll.ts'

/** Lists the identity providers that enroll devices, for callers who may start an enrollment. */
export const createListEnrollers =
  ({ federation }: { federation: Pick<Federation, 'enrollers'> }) =>
  (actor: Actor): Promise<readonly Enroller[]> => {
    if (isOfToken(actor)) requireAllowedAddress(actor)
    return federation.enrollers(actor.tenantId)
  }
export type ListEnrollers = ReturnType<typeof createListEnrollers>

const isOfToken = (actor: Actor): actor is Actor<'enrollment_token'> => actor.principal.kind === 'enrollment_token'
