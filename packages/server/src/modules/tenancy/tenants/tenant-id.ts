import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { decodeId, idOf, missing, newUuid } from '../../../kernel/ids.ts'

const tenantId = (uuid: string) => uuid as TenantId
export const newTenantId = () => tenantId(newUuid())

/** Of a text that anybody sends: it need not name a tenant that there is. */
export const readTenantId = (text: string): TenantId | undefined => {
  const uuid = decodeId('tenant', text)
  return uuid === undefined ? undefined : tenantId(uuid)
}

const isOfPlatform = ({ principal }: Actor): boolean =>
  'roles' in principal && principal.roles.includes('platform_admin')

/** The tenant that a request names: any for a platform role, the own one for anybody else; 404 for every other. */
export function tenantOf(actor: Actor, text: string): TenantId {
  const tenant = tenantId(idOf('tenant', text))
  return isOfPlatform(actor) || tenant === actor.tenantId ? tenant : missing('tenant')
}

/** The one tenant that a caller may list; undefined for a platform role that has not named one. */
export const onlyOwn = (actor: Actor): TenantId | undefined =>
  isOfPlatform(actor) && actor.tenantId === actor.principal.tenantId ? undefined : actor.tenantId
