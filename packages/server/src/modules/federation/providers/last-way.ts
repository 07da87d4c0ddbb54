import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { fail, failField } from '../../../kernel/app-error.ts'
import type { FederationDeps } from '../deps.ts'
import { type ProviderRow, selectOffered } from './providers.queries.ts'

/** Keeps one provider for sign-in while identity providers are the only way to sign in (`login.enforce_sso`). */
export function createLastWay({ people, tenancy }: Pick<FederationDeps, 'people' | 'tenancy'>) {
  return {
    /**
     * First lock of its transaction. Of two providers that are turned off at once, the second is judged after the
     * first.
     */
    hold: people.holdAdministrators,

    /** 422 for the last provider. Call it only after `hold`; turning the setting on takes the same lock. */
    refuseLast: async (tx: Tx, tenant: TenantId, provider: ProviderRow): Promise<void> => {
      if (!provider.enabled || !provider.sign_in || !(await tenancy.enforcesSso(tx, tenant))) return
      if ((await selectOffered(tx, tenant, 2)).length < 2)
        fail(
          'validation_error',
          `${provider.name} is the last identity provider for sign-in, and login.enforce_sso is on: enable another provider first, or turn login.enforce_sso off`,
        )
    },

    /** 422 if there is no provider for sign-in. Call it only after `hold`. */
    requireOne: async (tx: Tx, tenant: TenantId): Promise<void> => {
      if ((await selectOffered(tx, tenant, 1)).length === 0)
        failField(
          'login.enforce_sso',
          'needs an identity provider that is enabled for sign-in: create or enable one first',
        )
    },
  }
}
export type LastWay = ReturnType<typeof createLastWay>
