import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { passwordWithSecondFactor, presenceMinutes } from './limits.ts'
import { Closed, OneOf } from './schema.ts'
import { roleNames } from './vocabulary.ts'

const seconds = (minimum: number, maximum: number, description: string) =>
  Type.Integer({ minimum, maximum, description })

const perMinute = (what: string) =>
  Type.Integer({
    minimum: 1,
    maximum: 10_000_000,
    description: `Highest number of requests of one ${what} a minute, at most a tenth of them at once. Each replica counts its own requests`,
  })

/** Settings of a tenant for sign-in, sessions, rates and devices. */
export const SecuritySettings = Closed(
  {
    login: Closed({
      max_failures_per_ip: Type.Integer({
        minimum: 1,
        maximum: 10_000,
        description: 'Failed sign-ins from one IP address within the window; further sign-ins get 429',
      }),
      window_seconds: seconds(10, 86_400, 'Length of the window for failed sign-ins'),
      lockout_threshold: Type.Integer({
        minimum: 1,
        maximum: 1000,
        description: 'Consecutive failed sign-ins after which an account is locked',
      }),
      lockout_seconds: seconds(1, 7 * 86_400, 'Time for which an account stays locked'),
      enforce_sso: Type.Boolean({
        description:
          'True: people sign in only with identity providers. Only break-glass users sign in with a password',
      }),
    }),
    sessions: Closed({
      idle_seconds: seconds(1, 86_400, 'Time without a request after which a session ends'),
      absolute_seconds: seconds(1, 30 * 86_400, 'Time after its start at which a session ends'),
    }),
    api: Closed({
      requests_per_minute_per_key: perMinute('API key'),
      requests_per_minute_per_session: perMinute('session of an administrator'),
      requests_per_minute_per_device: perMinute('device'),
      requests_per_minute_per_gateway: perMinute('gateway'),
    }),
    passwords: Closed({
      min_length: Type.Integer({
        minimum: 8,
        maximum: 64,
        description: `Lowest number of characters, for users without a second factor. With one, ${passwordWithSecondFactor} are enough`,
      }),
    }),
    mfa: Closed({
      required_roles: Type.Array(OneOf(roleNames), {
        uniqueItems: true,
        maxItems: roleNames.length,
        description: 'Users with one of these roles must enroll a second factor before any other operation',
      }),
      step_up: Type.Boolean({
        description: `True: operations with \`x-step-up\` need a one-time code that is at most ${presenceMinutes} minutes old`,
      }),
    }),
    devices: Closed({
      require_device_key: Type.Boolean({
        description: 'True: a device must prove a key (DPoP) to enroll and to renew',
      }),
      approval: Type.Boolean({ description: 'True: every new device waits for approval' }),
    }),
  },
  { title: 'SecuritySettings' },
)
export type SecuritySettings = Static<typeof SecuritySettings>

export const defaultSecuritySettings: SecuritySettings = {
  login: {
    max_failures_per_ip: 20,
    window_seconds: 900,
    lockout_threshold: 10,
    lockout_seconds: 900,
    enforce_sso: false,
  },
  sessions: { idle_seconds: 1800, absolute_seconds: 43_200 },
  api: {
    requests_per_minute_per_key: 600,
    requests_per_minute_per_session: 600,
    requests_per_minute_per_device: 600,
    requests_per_minute_per_gateway: 3000,
  },
  passwords: { min_length: 15 },
  mfa: { required_roles: [], step_up: false },
  devices: { require_device_key: true, approval: false },
}

export const getSecuritySettings = endpoint({
  method: 'GET',
  path: '/v1/admin/settings/security',
  summary: 'Get the security settings of the tenant',
  description: 'These are the settings for sign-in, sessions, passwords, second factors, request rates and devices.',
  access: { by: ['session', 'api_key'], permission: 'settings:read' },
  response: SecuritySettings,
  etag: true,
})

export const updateSecuritySettings = endpoint({
  method: 'PUT',
  path: '/v1/admin/settings/security',
  summary: 'Replace the security settings of the tenant',
  description: 'Every replica follows within a second.',
  access: { by: ['session', 'api_key'], permission: 'settings:write' },
  audit: 'security_settings.updated',
  stepUp: {},
  body: SecuritySettings,
  response: SecuritySettings,
  ifMatch: true,
})
