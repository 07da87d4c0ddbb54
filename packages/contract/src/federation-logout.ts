import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Closed, Id, Name } from './schema.ts'

/** Path where providers report that a user has signed out. Refusals under it have the form of OAuth. */
export const backchannelLogoutBase = '/admin/logout/oidc/backchannel'

/** An error in the form of OAuth (RFC 6749 §5.2). */
export const OAuthError = Closed(
  {
    error: Type.Unsafe<'invalid_request' | 'temporarily_unavailable' | 'server_error'>({
      type: 'string',
      enum: ['invalid_request', 'temporarily_unavailable', 'server_error'],
    }),
    error_description: Type.String({
      description: 'One sentence for a person. It never has the reason why a token was refused',
    }),
  },
  { title: 'OAuthError' },
)

export const backchannelLogout = endpoint({
  method: 'POST',
  path: `${backchannelLogoutBase}/{provider_id}`,
  summary: 'End the sessions of a signed-out user',
  description:
    'An identity provider calls this after its user has signed out (OpenID Connect Back-Channel Logout 1.0).',
  protocol: 'oauth',
  access: { by: 'anyone' },
  audit: 'backchannel_logout.received',
  form: true,
  params: Closed({ provider_id: Id('identity_provider') }),
  query: Closed({ tenant: Type.Optional(Name) }),
  // Other parameters of the provider are ignored.
  body: Type.Object({
    logout_token: Type.String({
      minLength: 1,
      maxLength: 8192,
      description: 'Logout token. The provider signs it as it signs ID tokens. Each token is accepted once',
    }),
  }),
  response: Closed({}),
  errors: ['rate_limited'],
})
