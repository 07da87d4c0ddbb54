import type { Actor, TenantId } from '../../kernel/actor.ts'
import { decodeId, idOf, missing, newUuid } from '../../kernel/ids.ts'

/** Made by the first start and permanent. A request that names no tenant means this one. */
export const defaultTenant = 'default'

const tenantId = (uuid: string) => uuid as TenantId
export const newTenantId = () => tenantId(newUuid())

/** Reads an id that a stranger may have sent. The tenant need not exist. */
export const readTenantId = (text: string): TenantId | undefined => {
  const uuid = decodeId('tenant', text)
  return uuid === undefined ? undefined : tenantId(uuid)
}

const isOfPlatform = ({ principal }: Actor): boolean =>
  'roles' in principal && principal.roles.includes('platform_admin')

/**
 * Returns the tenant that a request names. A platform role may name any tenant, every other caller only its own;
 * otherwise 404.
 */
export function tenantOf(actor: Actor, text: string): TenantId {
  const tenant = tenantId(idOf('tenant', text))
  return isOfPlatform(actor) || tenant === actor.tenantId ? tenant : missing('tenant')
}

/** Returns the one tenant that a caller may list. Undefined for a platform role that has not named one. */
export const onlyOwn = (actor: Actor): TenantId | undefined =>
  isOfPlatform(actor) && actor.tenantId === actor.principal.tenantId ? undefined : actor.tenantId
