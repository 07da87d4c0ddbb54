import type { Role } from '@holdfast/contract/vocabulary'
import type { OutputOf } from '../../api/client.ts'
import { formatWord } from '../../ui/format.ts'
import type { IconName } from '../../ui/icon.tsx'

export type User = OutputOf<'GET /v1/admin/users'>['items'][number]

export const sourceWords: Readonly<Record<User['source'], string>> = {
  local: 'Local',
  directory: 'Directory',
  sso: 'Provider',
}
const kindWords: Readonly<Record<User['kind'], string>> = { person: 'Person', service: 'Service account' }

type Named = { username: string; display_name?: string | undefined }
/** Returns the display name, or the username of a user without one. */
export const nameOf = ({ username, display_name }: Named): string => display_name || username

export const userIcon = ({ kind }: { kind?: User['kind'] | undefined }): IconName =>
  kind === 'service' ? 'server' : 'user'

/** True while failed sign-ins lock the user. */
export const isLocked = ({ locked_until }: { locked_until?: string | null | undefined }, now = Date.now()): boolean =>
  locked_until != null && Date.parse(locked_until) > now

/** Options of the filters, by parameter of the API. */
export const options = {
  status: [
    { value: 'active', label: 'Active' },
    { value: 'suspended', label: 'Suspended' },
  ],
  mfa: [
    { value: 'true', label: 'On' },
    { value: 'false', label: 'Off' },
  ],
  locked: [
    { value: 'true', label: 'Locked' },
    { value: 'false', label: 'Not locked' },
  ],
  devices: [
    { value: 'true', label: 'With devices' },
    { value: 'false', label: 'Without devices' },
  ],
  source: Object.entries(sourceWords).map(([value, label]) => ({ value, label })),
  kind: Object.entries(kindWords).map(([value, label]) => ({ value, label })),
} as const

export const roleWords = formatWord
/** Purpose of each role. */
export const roleHelp: Readonly<Record<Role, string>> = {
  platform_admin: 'Everything, in every tenant',
  tenant_admin: 'Everything in this tenant',
  security_admin: 'Policy, trust, incidents and devices; reads everything',
  operator: 'Devices, gateways, enrollment and updates; reads nearly everything',
  helpdesk: 'Unlocks users, sets passwords and second factors, suspends devices',
  auditor: 'Reads everything and exports the audit log',
  viewer: 'Reads users, devices, sessions, gateways and policy',
}
export const roleNames = Object.keys(roleHelp) as readonly Role[]
