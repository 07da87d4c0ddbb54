import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { oidcSettings } from '../providers/providers.queries.ts'

const enrolling = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('identity_providers')
    .where('tenant_id', '=', tenant)
    .where('deleted_at', 'is', null)
    .where('enabled', '=', true)
    .where('enrollment', '=', true)

export const selectEnrollers = (tx: Tx, tenant: TenantId, most: number) =>
  enrolling(tx, tenant)
    .select(['provider_id', 'name', 'kind', 'saml', 'saml_found'])
    .select(oidcSettings.as('oidc'))
    .orderBy('name_key')
    .limit(most)
    .execute()

/**
 * Locks (FOR SHARE) those of the providers that are enabled for enrollment, until commit. Other transactions may hold
 * the same locks.
 */
export async function holdEnrollers(tx: Tx, tenant: TenantId, providerIds: readonly string[]): Promise<string[]> {
  if (providerIds.length === 0) return []
  const rows = await enrolling(tx, tenant)
    .select('provider_id')
    .where(sql<boolean>`provider_id = any(${providerIds}::uuid[])`)
    .orderBy('provider_id')
    .forShare()
    .execute()
  return rows.map((r) => r.provider_id)
}
