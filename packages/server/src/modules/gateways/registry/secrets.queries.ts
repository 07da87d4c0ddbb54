import { sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import { purgeTime } from '../../../db/kept.ts'
import { deleting } from '../../../db/retention.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export type Digest = { lookup: string; secret_digest: Buffer; secret_digest_version: number }

export const insertSecret = (tx: Tx, tenant: TenantId, gatewayId: string, secretId: string, d: Digest, at: Date) =>
  tx
    .insertInto('gateway_secrets')
    .values({ ...d, tenant_id: tenant, gateway_id: gatewayId, secret_id: secretId, created_at: at, valid_until: null })
    .execute()

export const findSecret = (tx: Tx, tenant: TenantId, lookup: string) =>
  tx
    .selectFrom('gateway_secrets as s')
    .innerJoin('gateways as g', (j) =>
      j.onRef('g.tenant_id', '=', 's.tenant_id').onRef('g.gateway_id', '=', 's.gateway_id'),
    )
    .select(['s.gateway_id', 's.secret_id', 's.secret_digest', 's.valid_until', 'g.name', 'g.pool_id'])
    .select(sql<boolean>`g.gateway_id in (select * from locked_targets(${tenant}, 'gateway'))`.as('locked'))
    .select((eb) =>
      eb
        .exists(
          eb
            .selectFrom('gateway_secrets as other')
            .select('other.secret_id')
            .where('other.tenant_id', '=', tenant)
            .whereRef('other.gateway_id', '=', 's.gateway_id')
            .where('other.valid_until', 'is not', null),
        )
        .as('another_is_ending'),
    )
    .where('s.tenant_id', '=', tenant)
    .where('g.tenant_id', '=', tenant)
    .where('s.lookup', '=', lookup)
    .where('g.deleted_at', 'is', null)
    .executeTakeFirst()

const secretsOf = (tx: Tx, tenant: TenantId, gatewayId: string) =>
  tx.deleteFrom('gateway_secrets').where('tenant_id', '=', tenant).where('gateway_id', '=', gatewayId)

export const isNewest = (tx: Tx, tenant: TenantId, gatewayId: string, secretId: string): Promise<boolean> =>
  affectedRow(
    tx
      .selectFrom('gateway_secrets')
      .select('secret_id')
      .where('tenant_id', '=', tenant)
      .where('gateway_id', '=', gatewayId)
      .where('secret_id', '=', secretId)
      .where('valid_until', 'is', null),
  )

/** Deletes the replaced secret at the first use of the newest one. Of several first uses one gets the row. */
export const endReplaced = (tx: Tx, tenant: TenantId, gatewayId: string) =>
  secretsOf(tx, tenant, gatewayId).where('valid_until', 'is not', null).returning('secret_id').execute()

export const endAll = (tx: Tx, tenant: TenantId, gatewayId: string) => secretsOf(tx, tenant, gatewayId).execute()

export const endExpired = (tx: Tx, tenant: TenantId, gatewayId: string, at: Date) =>
  secretsOf(tx, tenant, gatewayId).where('valid_until', '<=', at).execute()

/** Returns the end of the secret that was replaced and is still in use, if there is one. */
export const findReplaced = (tx: Tx, tenant: TenantId, gatewayId: string) =>
  tx
    .selectFrom('gateway_secrets')
    .select('valid_until')
    .where('tenant_id', '=', tenant)
    .where('gateway_id', '=', gatewayId)
    .where('valid_until', 'is not', null)
    .executeTakeFirst()

type EndingSecret = { gateway_id: string; name: string; replaced_at: Date; valid_until: Date }
/**
 * Returns for gateways with two secrets the end of the first, and the creation time of the second: the first `limit`
 * after a gateway.
 */
export const endingSecrets = async (tx: Tx, tenant: TenantId, at: Date, after: string | undefined, limit: number) => {
  const { rows } = await sql<EndingSecret>`
    select g.gateway_id, g.name, n.created_at as replaced_at, s.valid_until
      from gateway_secrets s
      join gateway_secrets n on n.tenant_id = ${tenant} and n.gateway_id = s.gateway_id and n.valid_until is null
      join gateways g on g.tenant_id = ${tenant} and g.gateway_id = s.gateway_id
     where s.tenant_id = ${tenant} and s.valid_until > ${at} and g.deleted_at is null
       and ${after === undefined ? sql`true` : sql`s.gateway_id > ${after}`}
     order by s.gateway_id limit ${limit}`.execute(tx)
  return rows
}

export const limitCurrent = (tx: Tx, tenant: TenantId, gatewayId: string, until: Date) =>
  tx
    .updateTable('gateway_secrets')
    .set({ valid_until: until })
    .where('tenant_id', '=', tenant)
    .where('gateway_id', '=', gatewayId)
    .where('valid_until', 'is', null)
    .execute()

export const endUnused = (tx: Tx, tenant: TenantId, gatewayId: string) =>
  secretsOf(tx, tenant, gatewayId).where('valid_until', 'is', null).execute()

export const pruneSecrets = deleting('gateway_secrets', sql`valid_until <= ${purgeTime}`)
