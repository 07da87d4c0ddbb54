import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import {
  Ago,
  Closed,
  Count,
  directoryName,
  EntryName,
  expiresInSeconds,
  Id,
  List,
  ListQuery,
  Name,
  NameOf,
  Nullable,
  OneOf,
  Reason,
  Secret,
  Text,
  Time,
  WasChanged,
} from './schema.ts'
import { permissions, requiredActions, roleNames } from './vocabulary.ts'

const Owed = Nullable(
  OneOf(requiredActions, {
    description:
      'Action that this session must complete first. Until then every other operation except `me` and `logout` answers 403',
  }),
)
/** As people type it and apps show it: in groups, with spaces or dashes, which are ignored. */
export const OneTimeCode = Type.String({
  minLength: 6,
  maxLength: 32,
  pattern: '^[\\s\\u2010-\\u2015\\u2212-]*(?:[0-9][\\s\\u2010-\\u2015\\u2212-]*){6}$',
  description: 'Six digits. Spaces and hyphens between them are ignored',
  examples: ['123 456'],
})
/** A wrong code of any kind gets the same 401, so the schema only bounds it. A form sends it empty. */
const MaybeCode = Type.Optional(Type.String({ maxLength: 64 }))

export const login = endpoint({
  method: 'POST',
  path: '/admin/login',
  summary: 'Sign in with a local account',
  description: 'The body is JSON, or the form of the login page.',
  access: { by: 'anyone' },
  audit: 'login.succeeded',
  setsCookie: true,
  form: true,
  body: Closed({
    username: Type.String({ minLength: 1, maxLength: 320, description: 'Username, or `tenant/username`' }),
    password: Type.String({ minLength: 1, maxLength: 1024 }),
    totp: MaybeCode,
    recovery_code: MaybeCode,
    next: Type.Optional(Text),
  }),
  response: Closed({
    user: Closed({ user_id: Id('user'), username: EntryName, tenant_id: Id('tenant') }),
    expires_at: Time,
    required_action: Owed,
  }),
  errors: ['unauthorized', 'forbidden', 'rate_limited'],
})

export const logout = endpoint({
  method: 'POST',
  path: '/admin/logout',
  summary: 'End your own session',
  description: 'A page may send it as a form.',
  access: { by: ['session'], permission: 'own', during: requiredActions },
  audit: 'session.expired',
  setsCookie: true,
  form: true,
  response: Closed({
    changed: WasChanged,
    end_session_url: Nullable(
      Type.String({
        description: 'URL where a browser ends the session with the identity provider that opened this session',
      }),
    ),
  }),
})

export const me = endpoint({
  method: 'GET',
  path: '/v1/admin/me',
  summary: 'Get the caller and their permissions',
  access: { by: ['session', 'api_key'], permission: 'own', during: requiredActions },
  response: Closed({
    credential: OneOf(['session', 'api_key']),
    tenant_id: Id('tenant'),
    tenant_name: Name,
    user: Nullable(Closed({ user_id: Id('user'), username: EntryName, display_name: Type.String() })),
    key_id: Nullable(Id('api_key')),
    session: Nullable(
      Closed({
        session_id: Id('admin_session'),
        expires_at: Time,
        idle_seconds: Type.Integer(),
        /** Time at which the session ends for inactivity without further activity. */
        idle_expires_at: Time,
        mfa: Type.Boolean({ description: 'True: the user has a second factor' }),
        recovery_codes_left: Count,
        stepped_up_until: Nullable(Time),
        required_action: Owed,
      }),
    ),
    roles: Type.Array(OneOf(roleNames)),
    permissions: Type.Array(OneOf(permissions)),
  }),
})

export const AdminSession = Closed(
  {
    session_id: Id('admin_session'),
    user_id: Id('user'),
    username: EntryName,
    auth_method: Type.String(),
    source_ip: Nullable(Type.String()),
    user_agent: Nullable(Type.String()),
    current: Type.Boolean({ description: 'True: this request uses this session' }),
    started_at: Time,
    last_seen_at: Time,
    expires_at: Time,
  },
  { title: 'AdminSession' },
)

export const listAdminSessions = endpoint({
  method: 'GET',
  path: '/v1/admin/auth/sessions',
  summary: 'List active admin sessions',
  description:
    'Without `user_id` a session lists the sessions of its own user. Those of another user need `credentials:read`. An API key lists the sessions of all users.',
  access: { by: ['session', 'api_key'], permission: 'own' },
  query: ListQuery({ user_id: Type.Optional(Id('user')) }, ['started_at'] as const, '-started_at'),
  response: List(AdminSession),
})

export const endAdminSession = endpoint({
  method: 'POST',
  path: '/v1/admin/auth/sessions/{session_id}/end',
  summary: 'End an admin session',
  description: 'A caller may end their own session. The session of another user needs `credentials:write`.',
  access: { by: ['session', 'api_key'], permission: 'own' },
  audit: 'session.expired',
  params: Closed({ session_id: Id('admin_session') }),
  body: Closed({ reason: Type.Optional(Reason) }),
  response: Closed({ session_id: Id('admin_session'), changed: WasChanged }),
})

export const stepUp = endpoint({
  method: 'POST',
  path: '/v1/admin/auth/step-up',
  summary: 'Prove a fresh one-time code',
  description: 'The session continues with a new id and a new cookie.',
  access: { by: ['session'], permission: 'own' },
  audit: 'session.stepped_up',
  setsCookie: true,
  body: Closed({ code: OneTimeCode }),
  response: Closed({ session_id: Id('admin_session'), expires_at: Time, stepped_up_until: Time }),
})

export const ApiKey = Closed(
  {
    key_id: Id('api_key'),
    tenant_id: Id('tenant'),
    name: Name,
    role: OneOf(roleNames),
    status: OneOf(['active', 'expired', 'revoked']),
    hint: Type.String({ description: 'Last four characters of the secret' }),
    allowed_cidrs: Type.Array(Type.String()),
    directory: Nullable(
      Type.String({ description: 'Directory that the key provisions by SCIM. The key can do nothing else' }),
    ),
    user_id: Nullable(Id('user')),
    user_name: NameOf('user (its username)'),
    created_by: Nullable(Type.String()),
    created_by_name: NameOf('user or API key'),
    created_at: Time,
    expires_at: Nullable(Time),
    last_used_at: Nullable(Time),
    revoked_at: Nullable(Time),
  },
  { title: 'ApiKey' },
)

export const createApiKey = endpoint({
  method: 'POST',
  path: '/v1/admin/api-keys',
  summary: 'Create an API key',
  description: 'Only this answer contains the secret of the key.',
  access: { by: ['session', 'api_key'], permission: 'api_keys:write' },
  audit: 'api_key.created',
  errors: ['entitlement_exceeded'],
  stepUp: {},
  status: 201,
  body: Closed({
    name: Name,
    role: OneOf(roleNames),
    user_id: Type.Optional(
      Type.String({
        maxLength: 64,
        description:
          'Service account to which the key belongs. Default: the caller. A key never has more permissions than that user has now, and it stops with the user',
      }),
    ),
    directory: Type.Optional(
      Type.String({
        ...directoryName,
        description: 'Directory that the key provisions by SCIM. Such a key can do nothing else',
      }),
    ),
    expires_in_seconds: expiresInSeconds(730, 'default: it does not expire'),
    allowed_cidrs: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 })),
  }),
  response: Closed({ api_key: ApiKey, secret: Secret }),
})

export const listApiKeys = endpoint({
  method: 'GET',
  path: '/v1/admin/api-keys',
  summary: 'List API keys',
  access: { by: ['session', 'api_key'], permission: 'api_keys:read' },
  errors: ['validation_error'],
  query: ListQuery(
    {
      status: Type.Optional(OneOf(['active', 'expired', 'revoked'])),
      role: Type.Optional(OneOf(roleNames)),
      unused_for: Ago('Only keys that were last used before this time, or never'),
    },
    ['created_at', 'last_used_at'] as const,
    '-created_at',
  ),
  response: List(ApiKey),
})

export const revokeApiKey = endpoint({
  method: 'POST',
  path: '/v1/admin/api-keys/{key_id}/revoke',
  summary: 'Revoke an API key',
  access: { by: ['session', 'api_key'], permission: 'api_keys:write' },
  audit: 'api_key.revoked',
  params: Closed({ key_id: Id('api_key') }),
  body: Closed({ reason: Type.Optional(Reason) }),
  response: Closed({ api_key: ApiKey, changed: WasChanged }),
})

export const revokeApiKeysOfUser = endpoint({
  method: 'POST',
  path: '/v1/admin/api-keys/revoke',
  summary: 'Revoke every API key of a user',
  description:
    'This revokes the keys that belong to the user. It also revokes every key and enrollment token that the user or one of these keys created.',
  access: { by: ['session', 'api_key'], permission: 'incidents:run' },
  audit: 'api_key.revoked',
  body: Closed({
    user_id: Id('user'),
    reason: Type.Optional(Reason),
    dry_run: Type.Optional(
      Type.Boolean({ description: 'Return the keys and tokens that would be revoked, and change nothing' }),
    ),
  }),
  response: Closed({
    changed: WasChanged,
    key_ids: Type.Array(Id('api_key')),
    token_ids: Type.Array(Id('enrollment_token'), { description: 'Enrollment tokens that the user or a key made' }),
  }),
})
