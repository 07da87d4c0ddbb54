import { background } from '../../../db/database.ts'
import { jobSource, type Source, type TenantId } from '../../../kernel/actor.ts'
import { inBatches } from '../../../kernel/batches.ts'
import { differences } from '../../../kernel/differences.ts'
import { minute } from '../../../kernel/time.ts'
import type { FederationDeps } from '../deps.ts'
import { FederationError } from '../protocols/proven-identity.ts'
import { providerTarget } from './provider-fields.ts'
import { lockProvider, type ProviderRow, selectUnread, updateMeasured } from './providers.queries.ts'
import { factsOfIdp, type SamlFound, type SamlSettings } from './saml-settings.ts'

/** Shorter than the job's interval of an hour. */
const readAgainAfter = 50 * minute
/** Providers of a tenant that are read from the database at once. */
const batch = 100
/** A slow provider takes seconds and delays only the providers of its own tenant. */
const tenantsAtOnce = 8

/**
 * Reads the metadata of providers again, so that a new certificate arrives before the provider signs with it. A failed
 * read keeps the last result until its own end of validity. A sign-in never reads metadata.
 */
export function createSamlRefresh({
  db,
  audit,
  now,
  tenancy,
  onError,
  settings,
}: Pick<FederationDeps, 'db' | 'audit' | 'now' | 'tenancy' | 'onError'> & { settings: Pick<SamlSettings, 'readAt'> }) {
  /** Another entity id means another provider with other accounts. An administrator must confirm such a change. */
  async function read({ saml, saml_found: known }: ProviderRow): Promise<SamlFound | FederationError> {
    try {
      const found = await settings.readAt(saml?.metadata_url ?? '')
      if (!known || known.entity_id === found.entity_id) return found
      return new FederationError(
        'issuer',
        'The entity id in the metadata has changed: if that is intended, disable the provider and enable it again.',
      )
    } catch (e) {
      if (e instanceof FederationError) return e
      throw e
    }
  }

  /** Stores the result, unless the address changed or another replica stored a result meanwhile. */
  const keep = (by: Source, row: ProviderRow, read: SamlFound | FederationError): Promise<void> =>
    db.inTenant(
      by.tenantId,
      async (tx) => {
        const before = await lockProvider(tx, by.tenantId, row.provider_id)
        if (!before || before.saml?.metadata_url !== row.saml?.metadata_url) return
        if (before.saml_found?.read_at !== row.saml_found?.read_at) return
        const failed = read instanceof FederationError ? read : undefined
        const saml_found = read instanceof FederationError ? before.saml_found : read
        const measured = { saml_found, saml_checked_at: now(), saml_problem: failed?.message ?? null }
        await updateMeasured(tx, by.tenantId, row.provider_id, measured)
        const target = providerTarget(before)
        const changes = differences({ found: factsOfIdp(before.saml_found) }, { found: factsOfIdp(saml_found) })
        if (Object.keys(changes).length > 0)
          await audit.record(tx, by, 'identity_provider.updated', { provider_id: target.id }, { target, changes })
        if (failed && !before.saml_problem && by.type === 'job') {
          const details = { reason: failed.reason }
          const fields = { provider_id: target.id, ok: false }
          await audit.record(tx, by, 'identity_provider.tested', fields, { target, details })
        }
      },
      background,
    )

  async function refresh(by: Source, row: ProviderRow): Promise<SamlFound | FederationError> {
    const found = await read(row)
    await keep(by, row, found)
    return found
  }

  return {
    refresh,

    /** Reads the metadata that are due in all tenants. Returns the number of providers. */
    sweep: async (): Promise<number> => {
      const since = new Date(now().getTime() - readAgainAfter)
      let done = 0
      const tenants = (await tenancy.listTenantIds()).values()
      const takeTenants = async () => {
        for (const tenant of tenants) {
          const due = inBatches<ProviderRow>(batch, (after, limit) =>
            db.inTenant(tenant, (tx) => selectUnread(tx, tenant, since, after, limit), background),
          )
          for await (const rows of due) {
            for (const row of rows) await refresh(jobOf(tenant), row).catch(onError)
            done += rows.length
          }
        }
      }
      const ended = await Promise.allSettled(Array.from({ length: tenantsAtOnce }, takeTenants))
      for (const end of ended) if (end.status === 'rejected') throw end.reason
      return done
    },
  }
}
export type SamlRefresh = ReturnType<typeof createSamlRefresh>
const jobOf = (tenant: TenantId) => jobSource(tenant, 'refresh_saml_metadata')
