import { Type } from 'typebox'
import { OneTimeCode } from './access.ts'
import { endpoint } from './endpoint.ts'
import { Closed, Count, Id, Reason, Secret, Time, Warnings, WasChanged } from './schema.ts'
import { Mfa, User } from './users.ts'

const password = (description: string) => Type.String({ minLength: 1, maxLength: 1024, description })

export const changePassword = endpoint({
  method: 'POST',
  path: '/v1/admin/users/password',
  summary: 'Change a password',
  description:
    'A caller may change their own password. `credentials:write` permits to set that of another user, or to generate a temporary one. The answer contains a temporary password as `secret`. It opens one session, which must set a new password.',
  access: { by: ['session', 'api_key'], permission: 'own', during: ['change_password'] },
  audit: 'user.password_changed',
  setsCookie: true,
  body: Closed({
    user_id: Type.Optional(Id('user')),
    new_password: Type.Optional(password('New password. Absent: a temporary one is generated')),
    generate: Type.Optional(Type.Boolean()),
    current_password: Type.Optional(password('Required for your own password')),
    revoke_api_keys: Type.Optional(
      Type.Boolean({
        description:
          'True: also revokes the API keys that belong to the user or that the user created. Default: false. A new password ends sessions; keys stay valid',
      }),
    ),
  }),
  response: Closed({
    user: User,
    changed: WasChanged,
    sessions_terminated: Type.Integer({ minimum: 0 }),
    api_keys_revoked: Count,
    warnings: Warnings,
    secret: Type.Optional(Secret),
    expires_at: Type.Optional(Time),
  }),
})

export const enrollTotp = endpoint({
  method: 'POST',
  path: '/v1/admin/users/totp/enroll',
  summary: 'Start the enrollment of a second factor',
  description:
    'A caller enrolls their own. Another user needs `credentials:write`. `secret` is the TOTP seed in base32.',
  access: { by: ['session', 'api_key'], permission: 'own', during: ['enroll_mfa'] },
  audit: 'user.mfa_enrollment_started',
  body: Closed({
    user_id: Type.Optional(Id('user')),
    current_password: Type.Optional(
      password('Password of the caller, for their own second factor if the account has a password'),
    ),
  }),
  response: Closed({
    provisioning_uri: Type.String({ description: 'otpauth:// URI for an authenticator app' }),
    secret: Secret,
    expires_at: Time,
  }),
})

export const verifyTotp = endpoint({
  method: 'POST',
  path: '/v1/admin/users/totp/verify',
  summary: 'Complete the enrollment of a second factor',
  description: 'The code does not count as a step-up. Only this answer contains the recovery codes.',
  access: { by: ['session', 'api_key'], permission: 'own', during: ['enroll_mfa'] },
  audit: 'user.mfa_enabled',
  setsCookie: true,
  body: Closed({ user_id: Type.Optional(Id('user')), code: OneTimeCode }),
  response: Closed({ mfa: Mfa, recovery_codes: Type.Array(Type.String()) }),
})

export const disableTotp = endpoint({
  method: 'POST',
  path: '/v1/admin/users/totp/disable',
  summary: 'Remove the second factor of a user',
  description: 'A caller removes their own with password and code. The sessions of the user end.',
  access: { by: ['session', 'api_key'], permission: 'credentials:write' },
  audit: 'user.mfa_disabled',
  stepUp: {},
  body: Closed({
    user_id: Id('user'),
    reason: Type.Optional(Reason),
    current_password: Type.Optional(password('Password of the caller, for their own second factor')),
    code: Type.Optional(OneTimeCode),
    recovery_code: Type.Optional(Type.String({ maxLength: 64 })),
  }),
  response: Closed({ user: User, changed: WasChanged, sessions_terminated: Type.Integer({ minimum: 0 }) }),
})
