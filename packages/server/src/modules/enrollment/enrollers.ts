import type { Actor } from '../../kernel/actor.ts'
import { fail } from '../../kernel/app-error.ts'
import { isWithin } from '../../kernel/cidr.ts'
import type { Enroller, Federation } from '../federation/index.ts'

/** The identity providers by which devices enroll, for whoever may begin that. */
export const createListEnrollers =
  ({ federation }: { federation: Pick<Federation, 'enrollers'> }) =>
  (actor: Actor): Promise<readonly Enroller[]> => {
    const { principal } = actor
    if (principal.kind === 'enrollment_token') {
      const { allowed_cidrs } = principal.terms
      if (allowed_cidrs.length > 0 && !isWithin(actor.sourceIp, allowed_cidrs))
        fail('forbidden', 'this enrollment token can not be used from this address')
    }
    return federation.enrollers(actor.tenantId)
  }
export type ListEnrollers = ReturnType<typeof createListEnrollers>
