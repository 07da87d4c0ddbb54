import type { FederationDeps } from '../deps.ts'
import { findLink } from './links.queries.ts'
import type { ProviderRow } from './providers.queries.ts'

/**
 * Returns the names of claims that affect a person: the groups where any are mapped, and the profile where a user may
 * be created for an account that is not linked.
 */
export const mappedClaimsOf =
  (db: FederationDeps['db'], row: ProviderRow) =>
  async ({ issuer, subject }: { issuer: string; subject: string }): Promise<readonly string[]> => {
    const { claims, provider_id, tenant_id: tenant } = row
    const groups = row.group_mappings.length + row.role_mappings.length > 0 ? [claims.groups] : []
    if (row.provisioning !== 'create') return groups
    const link = await db.inTenant(tenant, (tx) => findLink(tx, tenant, { provider_id, issuer, subject }))
    return link ? groups : [claims.username, claims.email, claims.display_name, ...groups]
  }
