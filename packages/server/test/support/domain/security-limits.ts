import type { SecuritySettings } from '@holdfast/contract/settings'

/** The settings with some fields replaced, section by section. */
export const over = (settings: object, named: object) =>
  Object.fromEntries(
    Object.entries(settings).map(([section, fields]) => [
      section,
      { ...fields, ...new Map(Object.entries(named)).get(section) },
    ]),
  )

/** For each setting, a value looser than its default, and the kind of caller that the setting limits. */
type Looser = {
  [S in keyof SecuritySettings]: { [F in keyof SecuritySettings[S]]: [binds: Bound, looser: SecuritySettings[S][F]] }
}
export type Bound = 'person' | 'api_key' | 'nobody here'
export const looser: Looser = {
  login: {
    max_failures_per_ip: ['person', 21],
    window_seconds: ['person', 899],
    lockout_threshold: ['person', 11],
    lockout_seconds: ['person', 899],
    enforce_sso: ['person', false],
  },
  sessions: { idle_seconds: ['person', 1801], absolute_seconds: ['person', 43_201] },
  api: {
    requests_per_minute_per_key: ['api_key', 100_001],
    requests_per_minute_per_session: ['person', 100_001],
    requests_per_minute_per_device: ['nobody here', 100_001],
    requests_per_minute_per_gateway: ['nobody here', 100_001],
  },
  passwords: { min_length: ['person', 14] },
  mfa: { required_roles: ['person', []], step_up: ['person', false] },
  devices: { require_device_key: ['nobody here', false], approval: ['nobody here', false] },
}

/** All settings with their names, the kind of caller that each limits, and a looser value. */
export const eachLimit = (): { section: string; field: string; binds: Bound; value: unknown }[] =>
  Object.entries(looser).flatMap(([section, fields]) =>
    Object.entries(fields as Record<string, [Bound, unknown]>).map(([field, [binds, value]]) => ({
      section,
      field,
      binds,
      value,
    })),
  )
