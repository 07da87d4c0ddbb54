import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { OidcSettings, Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export type GroupMapping = { value: string; group_id: string }
type Stored = Omit<Selectable<Tables['identity_providers']>, 'name_key'>
/** Result of the last reading of a SAML provider's metadata. */
const measured = ['saml_found', 'saml_checked_at', 'saml_problem'] as const
export type Measured = Pick<Stored, (typeof measured)[number]>
export type ProviderRow = Stored & { group_mappings: GroupMapping[] }
/** Configured fields of a provider, without its secret. */
export type ProviderFields = Omit<
  ProviderRow,
  | 'tenant_id'
  | 'provider_id'
  | 'kind'
  | 'client_secret_jwe'
  | 'created_at'
  | 'updated_at'
  | 'deleted_at'
  | keyof Measured
>

const columns = [
  'tenant_id',
  'provider_id',
  'kind',
  'name',
  'enabled',
  'sign_in',
  'enrollment',
  'requires_approval',
  'max_devices_per_user',
  'provisioning',
  'claims',
  'role_mappings',
  'saml',
  ...measured,
  'client_secret_jwe',
  'created_at',
  'updated_at',
  'deleted_at',
] as const
const mappings = sql<GroupMapping[]>`coalesce((
  select jsonb_agg(jsonb_build_object('value', g.value, 'group_id', g.group_id) order by g.value, g.group_id)
  from identity_provider_groups g
  where g.tenant_id = identity_providers.tenant_id and g.provider_id = identity_providers.provider_id), '[]')`

/** An earlier version that did not know `device_code` may have written the row. */
export const oidcSettings = sql<OidcSettings>`'{"device_code": "off"}'::jsonb || identity_providers.oidc`

/** Selects the providers that are not deleted. */
export const selectProviders = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('identity_providers')
    .select(columns)
    .select([oidcSettings.as('oidc'), mappings.as('group_mappings')])
    .where('tenant_id', '=', tenant)
    .where('deleted_at', 'is', null)

export const findProvider = (tx: Tx, tenant: TenantId, providerId: string): Promise<ProviderRow | undefined> =>
  selectProviders(tx, tenant).where('provider_id', '=', providerId).executeTakeFirst()

/** Counts the users with an account at each provider. */
export async function countLinked(tx: Tx, tenant: TenantId, providerIds: readonly string[]) {
  const rows = await tx
    .selectFrom('user_identities')
    .select(['provider_id', sql<number>`count(distinct user_id)::int`.as('users')])
    .where('tenant_id', '=', tenant)
    .where(sql<boolean>`provider_id = any(${providerIds}::uuid[])`)
    .groupBy('provider_id')
    .execute()
  return new Map(rows.map((r) => [r.provider_id, r.users]))
}

/** Locks the provider (FOR UPDATE) until commit: nobody else changes it, deletes it, or links an account to it. */
export async function lockProvider(tx: Tx, tenant: TenantId, providerId: string): Promise<ProviderRow | undefined> {
  await tx
    .selectFrom('identity_providers')
    .select('provider_id')
    .where('tenant_id', '=', tenant)
    .where('provider_id', '=', providerId)
    .forUpdate()
    .executeTakeFirst()
  return findProvider(tx, tenant, providerId)
}

/**
 * Locks the provider (FOR SHARE) until commit: nobody changes or deletes it. Other transactions may hold the same lock.
 */
export async function holdProvider(tx: Tx, tenant: TenantId, providerId: string): Promise<ProviderRow | undefined> {
  await tx
    .selectFrom('identity_providers')
    .select('provider_id')
    .where('tenant_id', '=', tenant)
    .where('provider_id', '=', providerId)
    .forShare()
    .executeTakeFirst()
  return findProvider(tx, tenant, providerId)
}

export const wasProviderDeleted = async (tx: Tx, tenant: TenantId, providerId: string): Promise<boolean> =>
  (await tx
    .selectFrom('identity_providers')
    .select('provider_id')
    .where('tenant_id', '=', tenant)
    .where('provider_id', '=', providerId)
    .executeTakeFirst()) !== undefined

type Made = { providerId: string; kind: Stored['kind']; secretJwe: string | null; measured: Measured; at: Date }
export async function insertProvider(tx: Tx, tenant: TenantId, f: ProviderFields, made: Made): Promise<void> {
  const { group_mappings: _, ...fields } = f
  await tx
    .insertInto('identity_providers')
    .values({
      ...fields,
      ...asText(f),
      tenant_id: tenant,
      provider_id: made.providerId,
      kind: made.kind,
      client_secret_jwe: made.secretJwe,
      ...measuredAsText(made.measured),
      created_at: made.at,
      updated_at: made.at,
      deleted_at: null,
    })
    .execute()
  await writeMappings(tx, tenant, made.providerId, f.group_mappings)
}

export async function updateProvider(
  tx: Tx,
  tenant: TenantId,
  providerId: string,
  f: ProviderFields,
  { secretJwe, measured, at }: { secretJwe: string | null; measured: Measured; at: Date },
): Promise<void> {
  const { group_mappings: _, ...fields } = f
  await tx
    .updateTable('identity_providers')
    .set({ ...fields, ...asText(f), ...measuredAsText(measured), client_secret_jwe: secretJwe, updated_at: at })
    .where('tenant_id', '=', tenant)
    .where('provider_id', '=', providerId)
    .execute()
  await writeMappings(tx, tenant, providerId, f.group_mappings)
}

const asText = (f: ProviderFields) => ({
  claims: JSON.stringify(f.claims),
  role_mappings: JSON.stringify(f.role_mappings),
  oidc: f.oidc && JSON.stringify(f.oidc),
  saml: f.saml && JSON.stringify(f.saml),
})
const measuredAsText = (m: Measured) => ({ ...m, saml_found: m.saml_found && JSON.stringify(m.saml_found) })

/** Stores the result of reading metadata. The provider's row is locked. */
export async function updateMeasured(tx: Tx, tenant: TenantId, providerId: string, m: Measured): Promise<void> {
  await tx
    .updateTable('identity_providers')
    .set(measuredAsText(m))
    .where('tenant_id', '=', tenant)
    .where('provider_id', '=', providerId)
    .execute()
}

/** Selects the enabled SAML providers by id: the first `limit` after a provider. */
export const selectSaml = (tx: Tx, tenant: TenantId, after: string | undefined, limit: number) => {
  const q = tx
    .selectFrom('identity_providers')
    .select(['provider_id', 'name', 'saml', ...measured])
    .where('tenant_id', '=', tenant)
    .where('kind', '=', 'saml')
    .where('enabled', '=', true)
    .where('deleted_at', 'is', null)
    .orderBy('provider_id')
    .limit(limit)
  return (after === undefined ? q : q.where('provider_id', '>', after)).execute()
}
export type SamlRow = Awaited<ReturnType<typeof selectSaml>>[number]

/** As exact as a `Date`, so that the next read continues after a row. */
const checkedAt = sql`coalesce(date_trunc('milliseconds', saml_checked_at), '-infinity')`
/**
 * Selects the enabled SAML providers whose metadata have not been read since a time, the longest ago first: the first
 * `limit` after a provider.
 */
export const selectUnread = (
  tx: Tx,
  tenant: TenantId,
  since: Date,
  after: Pick<ProviderRow, 'saml_checked_at' | 'provider_id'> | undefined,
  limit: number,
): Promise<ProviderRow[]> => {
  const q = selectProviders(tx, tenant)
    .where('kind', '=', 'saml')
    .where('enabled', '=', true)
    .where(sql<boolean>`saml ->> 'metadata_url' is not null`)
    .where((where) => where.or([where('saml_checked_at', 'is', null), where('saml_checked_at', '<', since)]))
    .orderBy(checkedAt)
    .orderBy('provider_id')
    .limit(limit)
  if (!after) return q.execute()
  const last = sql`(${after.saml_checked_at ?? '-infinity'}::timestamptz, ${after.provider_id}::uuid)`
  return q.where(sql<boolean>`(${checkedAt}, provider_id) > ${last}`).execute()
}

async function writeMappings(tx: Tx, tenant: TenantId, providerId: string, list: readonly GroupMapping[]) {
  await tx
    .deleteFrom('identity_provider_groups')
    .where('tenant_id', '=', tenant)
    .where('provider_id', '=', providerId)
    .execute()
  if (list.length === 0) return
  await tx
    .insertInto('identity_provider_groups')
    .values(list.map((m) => ({ tenant_id: tenant, provider_id: providerId, ...m })))
    .execute()
}

/** Deletes the provider's data. Its row stays, marked as deleted, for repeated requests and as the target of events. */
export async function deleteProvider(tx: Tx, tenant: TenantId, providerId: string, at: Date): Promise<void> {
  const tables = [
    ...([
      'sign_in_requests',
      'user_identities',
      'identity_provider_groups',
      'saml_requests',
      'device_grants',
      'logout_tokens',
    ] as const),
  ]
  for (const table of tables)
    await tx.deleteFrom(table).where('tenant_id', '=', tenant).where('provider_id', '=', providerId).execute()
  await tx
    .updateTable('identity_providers')
    .set({ deleted_at: at, client_secret_jwe: null })
    .where('tenant_id', '=', tenant)
    .where('provider_id', '=', providerId)
    .execute()
}

/** Selects the providers that the sign-in page offers. */
export const selectOffered = (tx: Tx, tenant: TenantId, most: number) =>
  tx
    .selectFrom('identity_providers')
    .select(['provider_id', 'name', 'kind'])
    .where('tenant_id', '=', tenant)
    .where('deleted_at', 'is', null)
    .where('enabled', '=', true)
    .where('sign_in', '=', true)
    .orderBy('name_key')
    .limit(most)
    .execute()

/** Returns the creation time of the first enabled identity provider. */
export const firstProviderAt = async (tx: Tx, tenant: TenantId): Promise<Date | undefined> => {
  const row = await tx
    .selectFrom('identity_providers')
    .select('created_at')
    .where('tenant_id', '=', tenant)
    .where('enabled', '=', true)
    .where('deleted_at', 'is', null)
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst()
  return row?.created_at
}
