import type { SecuritySettings } from '@holdfast/contract/settings'
import { type Actor, personsBehind } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { requirePresence } from '../../../kernel/presence.ts'
import type { Sections } from './settings.queries.ts'

/**
 * The caller that a setting restricts: a person (at sign-in or in a session) or an API key. Devices and gateways change
 * no settings.
 */
type Limit<V> = { of: 'person' | 'api_key'; isLooser: (before: V, after: V) => boolean } | null
type Limits = { [S in keyof SecuritySettings]: { [F in keyof SecuritySettings[S]]: Limit<SecuritySettings[S][F]> } }

const more = (before: number, after: number) => after > before
const less = (before: number, after: number) => after < before
const person = <V>(isLooser: (before: V, after: V) => boolean) => ({ of: 'person', isLooser }) as const

/** The restriction of each setting on the callers who may change it. */
const limits: Limits = {
  login: {
    max_failures_per_ip: person(more),
    window_seconds: person(less),
    lockout_threshold: person(more),
    lockout_seconds: person(less),
    enforce_sso: person((before, after) => before && !after),
  },
  sessions: { idle_seconds: person(more), absolute_seconds: person(more) },
  api: {
    requests_per_minute_per_key: { of: 'api_key', isLooser: more },
    requests_per_minute_per_session: person(more),
    requests_per_minute_per_device: null,
    requests_per_minute_per_gateway: null,
  },
  passwords: { min_length: person(less) },
  mfa: {
    required_roles: person((before, after) => before.some((role) => !after.includes(role))),
    step_up: person((before, after) => before && !after),
  },
  devices: { require_device_key: null, approval: null },
}

/** Returns as `section.field` the settings that a change loosens and that restrict a caller of this kind. */
function loosened(before: SecuritySettings, after: SecuritySettings, of: 'person' | 'api_key'): string[] {
  const found: string[] = []
  for (const [section, fields] of Object.entries(limits))
    for (const [field, limit] of Object.entries(fields as Record<string, Limit<unknown>>)) {
      const its = (settings: SecuritySettings) => (settings as Sections)[section]?.[field]
      if (limit?.of === of && limit.isLooser(its(before), its(after))) found.push(`${section}.${field}`)
    }
  return found
}

/**
 * Refuses to loosen a caller's own restriction with a credential that may be stolen. A session must prove the person's
 * presence. An API key cannot loosen its own restrictions, nor those of the people that it stands for.
 */
export function refuseOwnLimits(actor: Actor, before: SecuritySettings, after: SecuritySettings, at: Date): void {
  const { principal, tenantId } = actor
  if (principal.kind === 'session') {
    // Step-up binds everyone who acts in the tenant. The other settings bind its own people.
    const binding = loosened(before, after, 'person').filter(
      (name) => principal.tenantId === tenantId || name === 'mfa.step_up',
    )
    if (binding.length > 0) requirePresence(actor, `this loosens ${binding.join(', ')}`, at)
  }
  if (principal.kind !== 'api_key') return
  const own = principal.tenantId === tenantId ? loosened(before, after, 'api_key') : []
  const ofPeople = personsBehind(actor).length > 0 ? loosened(before, after, 'person') : []
  const binding = [...own, ...ofPeople]
  if (binding.length > 0)
    fail(
      'forbidden',
      `this loosens ${binding.join(', ')}, and these rules apply to the owner of this API key: make the change in a session`,
    )
}
