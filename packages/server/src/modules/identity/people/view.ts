import type { Role } from '@holdfast/contract/vocabulary'
import { encodeId } from '../../../kernel/ids.ts'
import type { GroupRow } from './groups.queries.ts'
import type { UserRow } from './users.queries.ts'
import { shownExternalId } from './users.queries.ts'

export const viewFactor = (since: Date | null) => ({
  enabled: since !== null,
  enrolled_at: since?.toISOString() ?? null,
})

export const viewUser = (user: UserRow, at: Date) => ({
  user_id: encodeId('user', user.user_id),
  tenant_id: encodeId('tenant', user.tenant_id),
  kind: user.kind,
  username: user.username,
  email: user.email,
  display_name: user.display_name,
  status: user.status,
  locked_until: user.locked_until && user.locked_until > at ? user.locked_until.toISOString() : null,
  source: user.source,
  external_id: shownExternalId(user.external_id),
  roles: user.roles as Role[],
  group_ids: user.group_ids.map((id) => encodeId('group', id)),
  group_names: user.group_names,
  device_count: user.device_count,
  mfa: viewFactor(user.mfa_enrolled_at),
  password_set: user.password_set,
  break_glass: user.break_glass,
  created_at: user.created_at.toISOString(),
  updated_at: user.updated_at.toISOString(),
  last_login_at: user.last_login_at?.toISOString() ?? null,
})

export const viewGroup = (group: GroupRow) => ({
  group_id: encodeId('group', group.group_id),
  tenant_id: encodeId('tenant', group.tenant_id),
  name: group.name,
  description: group.description,
  source: group.source,
  external_id: shownExternalId(group.external_id),
  member_count: group.member_count,
  created_at: group.created_at.toISOString(),
  updated_at: group.updated_at.toISOString(),
})
