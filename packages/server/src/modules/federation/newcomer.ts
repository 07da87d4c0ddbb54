import type { Tx } from '../../db/database.ts'
import type { Source } from '../../kernel/actor.ts'
import type { Change } from '../../memory/changes.ts'
import type { FederationDeps } from './deps.ts'
import type { Proven } from './proven.ts'
import type { ProviderRow } from './providers.queries.ts'
import { createRecognise, Refused, saidBy, type Unrecognised } from './recognise.ts'

/** Somebody whom a provider proved: on what terms their device comes, and whose it is, in the transaction of that. */
export type Newcomer = {
  terms: { requires_approval: boolean; max_devices_per_user: number | null }
  recognise: (tx: Tx) => Promise<Recognised | Unrecognised>
}
/** `isNew`: the user is made in this transaction. `moved`: what its end has to tell, beside the device. */
type Recognised = { userId: string; isNew: boolean; moved: readonly Change[] }

type Way = {
  /** Whether the provider, as it is in the transaction, enrolls devices in this way. */
  allows: (held: ProviderRow) => boolean
  /** Whether devices that come in this way wait for approval, whatever the provider says of others. */
  requiresApproval?: boolean
  /** Last, with all rows held: uses up what the proof stands for. Undefined, or why that can't be. */
  spend?: (tx: Tx) => Promise<Unrecognised | undefined>
}

/** No sign-in: nobody opens a session by it. What a provider says of groups is settled here; throws FederationError. */
export function createNewcomers(deps: Pick<FederationDeps, 'people' | 'now'>) {
  const recognise = createRecognise(deps)
  return (
    by: Source,
    provider: ProviderRow,
    proven: Proven,
    { allows, spend, requiresApproval = false }: Way,
  ): Newcomer => {
    const said = saidBy(provider, proven)
    // What the request stands for is the device.
    const source = { ...by, claim: null }
    return {
      terms: {
        requires_approval: provider.requires_approval || requiresApproval,
        max_devices_per_user: provider.max_devices_per_user,
      },
      recognise: async (tx) => {
        try {
          const purpose = { allows, isSignIn: false }
          const { userId, isNew, isMoved } = await recognise(tx, source, { provider, proven, said }, purpose)
          const refused = await spend?.(tx)
          return refused ?? { userId, isNew, moved: isMoved ? [{ kind: 'user', subject: userId }] : [] }
        } catch (e) {
          if (e instanceof Refused) return e.reason
          throw e
        }
      },
    }
  }
}
export type Newcomers = ReturnType<typeof createNewcomers>
