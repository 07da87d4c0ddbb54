import { sql } from 'kysely'
import { decodeId } from '../../../src/kernel/ids.ts'
import type { Kit } from '../deployment/deployment.ts'
import { bearer, call, enrollRaw, operation } from './all-callers.ts'

let count = 0
const fresh = () => `given-${++count}`

/** Gives a user every kind of access: a group, a linked account, a role, an API key, a token and a device. */
export async function give(
  kit: Kit,
  { provider_id }: { provider_id: string },
  user_id: string,
  { roles = true }: { roles?: boolean } = {},
) {
  const { admin, tenant } = kit
  await admin.changeGroup({ body: { operation: 'create', group: { name: fresh(), members: [user_id] } } })
  await admin.linkUserIdentity({ params: { user_id }, body: { provider_id, subject: fresh() } })
  if (roles) await admin.grantRole({ body: { user_id, role: 'viewer' } })
  const { secret: key, api_key } = await admin.createApiKey({ body: { name: fresh(), role: 'viewer' } })
  await kit.db.inTenant(tenant, (tx) =>
    sql`update api_keys set owner_tenant_id = ${tenant}, owner_user_id = ${decodeId('user', user_id)}
      where tenant_id = ${tenant} and key_id = ${decodeId('api_key', api_key.key_id)}`.execute(tx),
  )
  const token = await admin.generateToken({ body: { user_id, max_uses: 0 } })
  const { id: device_id } = await enrollRaw(kit, token.secret)
  return { user_id, key, token_id: token.enrollment_token.token_id, device_id }
}
type Given = Awaited<ReturnType<typeof give>>

/** Checks whether the user's token, device and API key still work. */
export async function worksOf(kit: Kit, { key, token_id, device_id }: Given) {
  const token = (await kit.admin.getToken({ params: { token_id } })).status
  const device = (await kit.admin.getDevice({ params: { device_id } })).status
  return { token, device, key: (await call(kit, operation('me'), bearer(key))).status }
}
/** The access that a user has left. */
export async function leftOf(kit: Kit, given: Given) {
  const { user_id } = given
  const { roles, group_ids, mfa } = await kit.admin.getUser({ params: { user_id } })
  const links = (await kit.admin.listUserIdentities({ params: { user_id } })).items.length
  return { roles, groups: group_ids.length, mfa: mfa.enabled, links, ...(await worksOf(kit, given)) }
}
/** Of a user whom `modules/offboarding` has cut off. */
export const nothingWorks = { token: 'revoked', device: 'revoked', key: 401 }
export const nothingLeft = { roles: [], groups: 0, mfa: false, links: 0, ...nothingWorks }
