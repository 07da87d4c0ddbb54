import { type Selectable, sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import { purgeTime } from '../../../db/kept.ts'
import { deleting } from '../../../db/retention.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

type CrlRow = Selectable<Tables['crls']>

/** Marks, as of commit, that these authorities have new revocations to list. */
export const bump = (tx: Tx, tenant: TenantId, issuerIds: readonly string[]) =>
  sql`insert into crls (tenant_id, issuer_id, revision)
      select ${tenant}, i.issuer_id, 1 from unnest(${[...new Set(issuerIds)]}::uuid[]) as i (issuer_id) order by 2
      on conflict (tenant_id, issuer_id) do update set revision = crls.revision + 1`.execute(tx)

/** Authorities that publish CRLs. */
export const authorityIds = async (tx: Tx, tenant: TenantId): Promise<string[]> => {
  const rows = await tx
    .selectFrom('signing_keys')
    .select('signer_id')
    .where('tenant_id', '=', tenant)
    .where('purpose', 'in', ['ca-root', 'ca-issuing'])
    .where('state', 'in', ['active', 'retiring'])
    .execute()
  return rows.map((r) => r.signer_id)
}

export const crlsOf = (tx: Tx, tenant: TenantId): Promise<CrlRow[]> =>
  tx.selectFrom('crls').selectAll().where('tenant_id', '=', tenant).execute()

/** The newest CRL of an authority, without its content. */
export const newestCrl = (tx: Tx, tenant: TenantId, issuerId: string): Promise<NewestCrl | undefined> =>
  tx
    .selectFrom('crls')
    .select(['number', 'revision', 'issued_revision', 'this_update'])
    .where('tenant_id', '=', tenant)
    .where('issuer_id', '=', issuerId)
    .executeTakeFirst()
export type NewestCrl = Pick<CrlRow, 'number' | 'revision' | 'issued_revision' | 'this_update'>

/** Validity periods of the newest CRLs. */
export const endsOfCrls = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('crls as c')
    .innerJoin('signing_keys as k', (on) =>
      on.onRef('k.tenant_id', '=', 'c.tenant_id').onRef('k.signer_id', '=', 'c.issuer_id'),
    )
    .select(['c.issuer_id', 'c.number', 'c.this_update', 'c.next_update'])
    .where('c.tenant_id', '=', tenant)
    .where('k.state', 'in', ['active', 'retiring'])
    .execute()

/** Entries of an issuing CA's CRL, by serial number. */
export const revokedBy = (tx: Tx, tenant: TenantId, issuerId: string, endsAfter: Date) =>
  tx
    .selectFrom('spcs')
    .select(['spc_id', 'revoked_at', 'revocation_reason'])
    .where('tenant_id', '=', tenant)
    .where('issuer_id', '=', issuerId)
    .where('status', '=', 'revoked')
    .where('not_after', '>', endsAfter)
    .orderBy('spc_id')
    .execute()

/** Compromised certificates of issuing CAs and of cross-signed roots. They belong on the CRLs of the roots. */
export const compromisedAuthorities = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('signing_keys as k')
    .leftJoin('cross_certificates as c', (on) =>
      on.onRef('c.tenant_id', '=', 'k.tenant_id').onRef('c.subject_id', '=', 'k.signer_id'),
    )
    .select((eb) => [eb.fn.coalesce('c.certificate', 'k.certificate').as('certificate'), 'k.retired_at'])
    .where('k.tenant_id', '=', tenant)
    .where('k.purpose', 'in', ['ca-root', 'ca-issuing'])
    .where('k.state', '=', 'compromised')
    .orderBy('k.retired_at')
    .execute()

/** False if another replica has already issued this number. */
export const putCrl = (
  tx: Tx,
  tenant: TenantId,
  crl: Required<Pick<CrlRow, 'issuer_id' | 'number' | 'issued_revision' | 'this_update' | 'next_update' | 'der'>>,
): Promise<boolean> =>
  affectedRow(
    tx
      .insertInto('crls')
      .values({ ...crl, tenant_id: tenant })
      .onConflict((c) =>
        c
          .columns(['tenant_id', 'issuer_id'])
          .doUpdateSet({
            number: crl.number,
            issued_revision: crl.issued_revision,
            this_update: crl.this_update,
            next_update: crl.next_update,
            der: crl.der,
          })
          .where('crls.number', '=', crl.number - 1),
      )
      .returning('issuer_id'),
  )

/**
 * Bypasses tenant isolation. Tenants with an authority that has new revocations, or whose CRL is older than
 * `issuedBefore`. Retired authorities issue none.
 */
export const tenantsWithDueCrls = async (tx: Tx, issuedBefore: Date): Promise<TenantId[]> => {
  const rows = await tx
    .selectFrom('crls as c')
    .innerJoin('signing_keys as k', (on) =>
      on.onRef('k.tenant_id', '=', 'c.tenant_id').onRef('k.signer_id', '=', 'c.issuer_id'),
    )
    .select('c.tenant_id')
    .distinct()
    .where('k.state', 'in', ['active', 'retiring'])
    .where((eb) => eb.or([eb('c.revision', '>', eb.ref('c.issued_revision')), eb('c.this_update', '<', issuedBefore)]))
    .execute()
  return rows.map((r) => r.tenant_id)
}

/** Retired authorities issue no CRL. Their last one is kept for a while, for later look-ups. */
export const pruneCrls = deleting('crls', sql`next_update < ${purgeTime} - interval '90 days'`)
