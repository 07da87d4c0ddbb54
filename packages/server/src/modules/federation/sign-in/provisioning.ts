import type { Tx } from '../../../db/database.ts'
import type { Source } from '../../../kernel/actor.ts'
import type { Change } from '../../../replication/changes.ts'
import type { FederationDeps } from '../deps.ts'
import type { ProvenIdentity } from '../protocols/proven-identity.ts'
import type { ProviderRow } from '../providers/providers.queries.ts'
import { createAccountResolution, mappedBy, RefusedSignIn, type UnresolvedAccount } from './account-resolution.ts'

/**
 * A person that a provider proved: the terms for their device, and the function that finds or makes their user. That
 * function runs in the transaction of the enrollment.
 */
export type ProvisioningCandidate = {
  terms: { requires_approval: boolean; max_devices_per_user: number | null }
  resolveAccount: (tx: Tx) => Promise<Recognised | UnresolvedAccount>
}
/**
 * `isNew`: the user is made in this transaction. `moved`: changes to record at its end, in addition to the device's.
 */
type Recognised = { userId: string; isNew: boolean; moved: readonly Change[] }

type Way = {
  /** True if the provider, as it is in the transaction, enrolls devices in this way. */
  allows: (held: ProviderRow) => boolean
  /** True if devices enrolled in this way wait for approval, even if the provider's own setting requires none. */
  requiresApproval?: boolean
  /** Uses up the proof. Runs last, with all rows locked. Returns undefined, or the reason for the refusal. */
  spend?: (tx: Tx) => Promise<UnresolvedAccount | undefined>
}

/**
 * Enrollment candidates; no session is opened for them. The groups in the proof are read here, which throws
 * FederationError.
 */
export function createProvisioning(deps: Pick<FederationDeps, 'people' | 'now'>) {
  const resolveAccount = createAccountResolution(deps)
  return (
    by: Source,
    provider: ProviderRow,
    proven: ProvenIdentity,
    { allows, spend, requiresApproval = false }: Way,
  ): ProvisioningCandidate => {
    const said = mappedBy(provider, proven)
    // The request's idempotency claim belongs to the device.
    const source = { ...by, claim: null }
    return {
      terms: {
        requires_approval: provider.requires_approval || requiresApproval,
        max_devices_per_user: provider.max_devices_per_user,
      },
      resolveAccount: async (tx) => {
        try {
          const purpose = { allows, isSignIn: false }
          const { userId, isNew, isMoved } = await resolveAccount(tx, source, { provider, proven, said }, purpose)
          const refused = await spend?.(tx)
          return refused ?? { userId, isNew, moved: isMoved ? [{ kind: 'user', subject: userId }] : [] }
        } catch (e) {
          if (e instanceof RefusedSignIn) return e.reason
          throw e
        }
      },
    }
  }
}
export type Provisioning = ReturnType<typeof createProvisioning>
