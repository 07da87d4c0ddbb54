import type { Tx } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { noteSetter } from './credential-setters.queries.ts'

type Acting = { tenantId: TenantId; id: string; userId: string | null }

/** Whoever acts: the person behind a session or a key, or a key that is nobody's. */
export const actingPerson = ({ tenantId, id, userId }: Acting): string =>
  userId === null ? `${tenantId}/key/${id}` : `${tenantId}/${userId}`

/** The same of an administrator's request; undefined for devices, gateways and jobs. */
export function actingPersonOf({ principal }: Pick<Actor, 'principal'>): string | undefined {
  if (principal.kind === 'session') return actingPerson({ ...principal, userId: principal.userId })
  if (principal.kind === 'api_key') return actingPerson({ ...principal, userId: principal.ownerId })
  return undefined
}

/** Notes in a change that somebody set what another user signs in with; of the own account nothing. */
export async function noteSetting(tx: Tx, actor: Actor, tenant: TenantId, user: string, at: Date): Promise<void> {
  const by = actingPersonOf(actor)
  if (by !== undefined && by !== `${tenant}/${user}`) await noteSetter(tx, tenant, { user, by, at })
}
