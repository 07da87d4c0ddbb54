import { sql } from 'kysely'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** Settings as stored: section → field → value. Any of them may be missing. */
export type Sections = { readonly [section in string]?: Record<string, unknown> }

export const readSettings = async (tx: Tx, tenant: TenantId): Promise<Sections> => {
  const row = await tx
    .selectFrom('tenant_settings')
    .select('security')
    .where('tenant_id', '=', tenant)
    .executeTakeFirst()
  return row?.security ?? {}
}

/**
 * Reads like `readSettings`, and locks against changes until commit. Other transactions may take the same lock at the
 * same time.
 */
export const holdSettings = async (tx: Tx, tenant: TenantId): Promise<Sections> => {
  const row = await tx
    .selectFrom('tenant_settings')
    .select('security')
    .where('tenant_id', '=', tenant)
    .forShare()
    .executeTakeFirst()
  return row?.security ?? {}
}

/** Locks the row until commit, so that the second of two changes sees the first. */
export const lockSettings = async (tx: Tx, tenant: TenantId): Promise<Sections> => {
  const row = await tx
    .selectFrom('tenant_settings')
    .select('security')
    .where('tenant_id', '=', tenant)
    .forUpdate()
    .executeTakeFirstOrThrow()
  return row.security
}

export const writeSettings = (tx: Tx, tenant: TenantId, security: Sections, at: Date) =>
  tx
    .updateTable('tenant_settings')
    .set({ security: JSON.stringify(security), updated_at: at })
    .where('tenant_id', '=', tenant)
    .execute()

export const readEnrollment = async (tx: Tx, tenant: TenantId): Promise<Sections> => {
  const row = await tx
    .selectFrom('tenant_settings')
    .select('enrollment')
    .where('tenant_id', '=', tenant)
    .executeTakeFirst()
  return row?.enrollment ?? {}
}

/** Locks the row until commit, so that the second of two changes sees the first. */
export const lockEnrollment = async (tx: Tx, tenant: TenantId): Promise<Sections> => {
  const row = await tx
    .selectFrom('tenant_settings')
    .select('enrollment')
    .where('tenant_id', '=', tenant)
    .forUpdate()
    .executeTakeFirstOrThrow()
  return row.enrollment
}

export const writeEnrollment = (tx: Tx, tenant: TenantId, enrollment: Sections, at: Date) =>
  tx
    .updateTable('tenant_settings')
    .set({ enrollment: JSON.stringify(enrollment), updated_at: at })
    .where('tenant_id', '=', tenant)
    .execute()

export const readDismissed = async (tx: Tx, tenant: TenantId): Promise<readonly string[]> => {
  const row = await tx
    .selectFrom('tenant_settings')
    .select('dismissed_steps')
    .where('tenant_id', '=', tenant)
    .executeTakeFirst()
  return row?.dismissed_steps ?? []
}

/** Of concurrent callers that dismiss a step, or restore it, exactly one gets true. */
export const setDismissed = (
  tx: Tx,
  tenant: TenantId,
  { step, dismissed }: { step: string; dismissed: boolean },
  at: Date,
): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('tenant_settings')
      .set({
        dismissed_steps: dismissed
          ? sql<string[]>`array_append(dismissed_steps, ${step})`
          : sql<string[]>`array_remove(dismissed_steps, ${step})`,
        updated_at: at,
      })
      .where('tenant_id', '=', tenant)
      .where(sql<boolean>`(${step} = any(dismissed_steps)) <> ${dismissed}`)
      .returning('tenant_id'),
  )
