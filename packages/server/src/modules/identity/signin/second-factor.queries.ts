import { sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

type StoredDigest = { digest: Buffer; version: number }

/** Seed of a second factor, and the id of the factor: the seed of the same factor may be sealed again at any time. */
export type SealedSeed = { jwe: string; factor: string }

const rowOf = (tx: Tx, tenant: TenantId, user: string) =>
  tx
    .selectFrom('user_totp')
    .select(['seed_jwe as jwe', 'factor_id as factor'])
    .where('tenant_id', '=', tenant)
    .where('user_id', '=', user)

/** Returns the seed of the user's second factor. */
export const findSeed = (tx: Tx, tenant: TenantId, user: string): Promise<SealedSeed | undefined> =>
  rowOf(tx, tenant, user).where('enrolled_at', 'is not', null).executeTakeFirst()

/** Returns the seed that still needs a code to be confirmed. */
export const findPending = (tx: Tx, tenant: TenantId, user: string, at: Date): Promise<SealedSeed | undefined> =>
  rowOf(tx, tenant, user).where('enrolled_at', 'is', null).where('expires_at', '>', at).executeTakeFirst()

/** Replaces a pending seed. False if the user already has a second factor. */
export const insertPendingSeed = (
  tx: Tx,
  tenant: TenantId,
  user: string,
  { seed_jwe, expires_at }: { seed_jwe: string; expires_at: Date },
): Promise<boolean> =>
  affectedRow(
    tx
      .insertInto('user_totp')
      .values({ tenant_id: tenant, user_id: user, seed_jwe, expires_at })
      .onConflict((c) =>
        c
          .columns(['tenant_id', 'user_id'])
          .doUpdateSet({ seed_jwe, factor_id: sql`gen_random_uuid()`, expires_at, last_step: 0 })
          .where('user_totp.enrolled_at', 'is', null),
      )
      .returning('user_id'),
  )

/** True for the one call that made the pending seed the second factor. Its code counts as used. */
export const confirm = (
  tx: Tx,
  tenant: TenantId,
  user: string,
  { factor, step, at }: { factor: string; step: number; at: Date },
): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('user_totp')
      .set({ enrolled_at: at, last_step: step })
      .where('tenant_id', '=', tenant)
      .where('user_id', '=', user)
      .where('factor_id', '=', factor)
      .where('enrolled_at', 'is', null)
      .where('expires_at', '>', at)
      .returning('user_id'),
  )

export const insertRecoveryCodes = (tx: Tx, tenant: TenantId, user: string, digests: readonly StoredDigest[]) =>
  tx
    .insertInto('recovery_codes')
    .values(
      digests.map(({ digest: code_digest, version: code_digest_version }) => ({
        tenant_id: tenant,
        user_id: user,
        code_digest,
        code_digest_version,
      })),
    )
    .execute()

export const countRecoveryCodes = async (tx: Tx, tenant: TenantId, user: string): Promise<number> => {
  const { left } = await tx
    .selectFrom('recovery_codes')
    .select(sql<number>`count(*)`.as('left'))
    .where('tenant_id', '=', tenant)
    .where('user_id', '=', user)
    .where('used_at', 'is', null)
    .executeTakeFirstOrThrow()
  return left
}

/**
 * True once for each step, and never again for an earlier one. The single statement makes it atomic on any number of
 * replicas.
 */
export const useStep = (tx: Tx, tenant: TenantId, user: string, factor: string, step: number): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('user_totp')
      .set({ last_step: step })
      .where('tenant_id', '=', tenant)
      .where('user_id', '=', user)
      .where('factor_id', '=', factor)
      .where('enrolled_at', 'is not', null)
      .where('last_step', '<', step)
      .returning('user_id'),
  )

/** True for the one call that used this code. */
export const useRecoveryCode = (tx: Tx, tenant: TenantId, user: string, digests: readonly Buffer[], at: Date) =>
  affectedRow(
    tx
      .updateTable('recovery_codes')
      .set({ used_at: at })
      .where('tenant_id', '=', tenant)
      .where('user_id', '=', user)
      .where('code_digest', 'in', digests)
      .where('used_at', 'is', null)
      .returning('user_id'),
  )

/** Stores the time of the user's last proof of a second factor; null if there is no factor any more. */
export const setMfaAt = (tx: Tx, tenant: TenantId, user: string, at: Date | null) =>
  tx.updateTable('users').set({ mfa_at: at }).where('tenant_id', '=', tenant).where('user_id', '=', user).execute()

/** Deletes the second factor and its recovery codes. True for the one call that did it. */
export const removeFactor = (tx: Tx, tenant: TenantId, user: string): Promise<boolean> =>
  affectedRow(
    tx
      .deleteFrom('user_totp')
      .where('tenant_id', '=', tenant)
      .where('user_id', '=', user)
      .where('enrolled_at', 'is not', null)
      .returning('user_id'),
  )
