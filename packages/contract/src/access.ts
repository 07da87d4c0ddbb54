import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Id, List, ListQuery, Name, Nullable, OneOf, Reason, Text, Time } from './schema.ts'
import { permissions, roleNames } from './vocabulary.ts'

export const login = endpoint({
  method: 'POST',
  path: '/admin/login',
  summary: 'Sign in with a local account; JSON, or the form of the login page',
  access: { by: 'anyone' },
  audit: 'login.succeeded',
  form: true,
  body: Closed({
    username: Type.String({ minLength: 1, maxLength: 128 }),
    password: Type.String({ minLength: 1, maxLength: 1024 }),
    next: Type.Optional(Text),
  }),
  response: Closed({
    user: Closed({ user_id: Id('user'), username: Name, tenant_id: Id('tenant') }),
    expires_at: Time,
  }),
  errors: ['unauthorized', 'rate_limited'],
})

export const logout = endpoint({
  method: 'POST',
  path: '/admin/logout',
  summary: 'End the own session; also as the form of a page',
  access: { by: ['session'], permission: 'own' },
  audit: 'session.expired',
  form: true,
  response: Closed({ changed: Type.Boolean() }),
})

export const me = endpoint({
  method: 'GET',
  path: '/v1/admin/me',
  summary: 'Who is calling and what the caller may do',
  access: { by: ['session', 'api_key'], permission: 'own' },
  response: Closed({
    credential: OneOf(['session', 'api_key']),
    tenant_id: Id('tenant'),
    tenant_name: Name,
    user: Nullable(Closed({ user_id: Id('user'), username: Name, display_name: Type.String() })),
    key_id: Nullable(Id('api_key')),
    session: Nullable(Closed({ session_id: Id('admin_session'), expires_at: Time, idle_seconds: Type.Integer() })),
    roles: Type.Array(OneOf(roleNames)),
    permissions: Type.Array(OneOf(permissions)),
  }),
})

export const ApiKey = Closed({
  key_id: Id('api_key'),
  tenant_id: Id('tenant'),
  name: Name,
  role: OneOf(roleNames),
  status: OneOf(['active', 'expired', 'revoked']),
  hint: Type.String({ description: 'The last four characters' }),
  allowed_cidrs: Type.Array(Type.String()),
  created_by: Nullable(Type.String()),
  created_at: Time,
  expires_at: Nullable(Time),
  last_used_at: Nullable(Time),
  revoked_at: Nullable(Time),
})

export const createApiKey = endpoint({
  method: 'POST',
  path: '/v1/admin/api-keys',
  summary: 'Create an API key; its secret appears only in this answer',
  access: { by: ['session', 'api_key'], permission: 'api_keys:write' },
  audit: 'api_key.created',
  status: 201,
  body: Closed({
    name: Name,
    role: OneOf(roleNames),
    expires_at: Type.Optional(Time),
    allowed_cidrs: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 64 })),
  }),
  response: Closed({ api_key: ApiKey, secret: Type.String({ description: 'The key, shown once' }) }),
})

export const listApiKeys = endpoint({
  method: 'GET',
  path: '/v1/admin/api-keys',
  summary: 'List API keys',
  access: { by: ['session', 'api_key'], permission: 'api_keys:read' },
  query: ListQuery({ status: Type.Optional(OneOf(['active', 'expired', 'revoked'])) }, ['created_at'] as const),
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
  response: Closed({ api_key: ApiKey, changed: Type.Boolean() }),
})
