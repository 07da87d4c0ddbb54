import type { Configuration, CustomFetch } from 'openid-client'
import { FederationError } from '../proven-identity.ts'
import { loadClient, outboundErrorIn } from './library.ts'
import type { Metadata } from './metadata.ts'

export type KnownClient = {
  redirectUri: string
  state: string
  nonce: string
  verifier: string
  maxAgeSeconds?: number | undefined
}

/** Checks an answer first, to give a precise error. The library checks it again, and it alone sends the code. */
function checkAnswer(answer: URLSearchParams, known: KnownClient, metadata: Metadata): void {
  if (!known.state || !known.nonce || !known.verifier)
    throw new FederationError('state', 'The state of this sign-in is unknown: start the sign-in again.')
  const [state, otherState] = answer.getAll('state')
  if (state !== known.state || otherState !== undefined)
    throw new FederationError('state', 'The answer does not belong to this sign-in.')
  const [issuer, otherIssuer] = answer.getAll('iss')
  const isMissing = issuer === undefined && metadata.authorization_response_iss_parameter_supported
  if (isMissing || (issuer !== undefined && issuer !== metadata.issuer) || otherIssuer !== undefined)
    throw new FederationError('issuer', 'The answer comes from a provider other than the requested one.')
  const [error] = answer.getAll('error')
  if (error !== undefined) throw new FederationError('denied', `The provider refused the sign-in${safeWord(error)}.`)
  if (answer.getAll('code').length !== 1 || answer.get('code') === '')
    throw new FederationError('code', 'The answer contains no code.')
}
/** Returns an error code of the provider in parentheses if it is safe to show, else an empty text. */
export const safeWord = (text: unknown) => (typeof text === 'string' && /^[a-z_]{1,64}$/.test(text) ? ` (${text})` : '')

/** Answer of a token endpoint: the ID token, and the access token for UserInfo. */
type Tokens = { idToken: string; accessToken: string | undefined }
/** A verified ID token, and the access token that came with it. */
export type VerifiedTokens<T> = { verified: T; accessToken: string | undefined }

/** Exchanges the code of an answer for tokens; `judge` verifies the ID token. Throws FederationError. */
export async function exchange<T>(
  configuration: Configuration,
  fetch: CustomFetch,
  { metadata, answer, known }: { metadata: Metadata; answer: URLSearchParams; known: KnownClient },
  judge: (idToken: string) => Promise<T>,
): Promise<VerifiedTokens<T>> {
  checkAnswer(answer, known, metadata)
  const client = await loadClient()
  let tokens: Tokens | undefined
  configuration[client.customFetch] = async (url, request) => {
    // Providers compare the redirect URI exactly with that of the authorization request; the library would normalize
    // it.
    if (request.body instanceof URLSearchParams) request.body.set('redirect_uri', known.redirectUri)
    const response = await fetch(url, request)
    tokens = tokensIn(await response.clone().text())
    return response
  }
  const url = new URL(known.redirectUri)
  url.search = answer.toString()
  const refusal = await client
    .authorizationCodeGrant(configuration, url, {
      expectedState: known.state,
      expectedNonce: known.nonce,
      pkceCodeVerifier: known.verifier,
      idTokenExpected: true,
      ...(known.maxAgeSeconds !== undefined && { maxAge: known.maxAgeSeconds }),
    })
    .then(
      () => undefined,
      (e: unknown) => toFederationError(e, client),
    )
  // The library checks the claims of the token too. `judge` runs first, so its precise error wins.
  const verified = tokens && { verified: await judge(tokens.idToken), accessToken: tokens.accessToken }
  if (refusal) throw refusal
  if (!verified) throw new FederationError('token', 'The provider issued no ID token for the code.')
  return verified
}

/** Reads the tokens in the answer of a token endpoint. Undefined if there is no ID token. */
export function tokensIn(text: string): Tokens | undefined {
  const textOf = (found: unknown) => (typeof found === 'string' && found !== '' ? found : undefined)
  try {
    const answer = JSON.parse(text) as { id_token?: unknown; access_token?: unknown }
    const idToken = textOf(answer.id_token)
    return idToken === undefined ? undefined : { idToken, accessToken: textOf(answer.access_token) }
  } catch {
    return undefined
  }
}

/** Translates the library's error about an exchanged code. */
export function toFederationError(e: unknown, client: Awaited<ReturnType<typeof loadClient>>): FederationError {
  const refused = outboundErrorIn(e)
  if (refused) return new FederationError('unreachable', `The code could not be exchanged: ${refused.message}`)
  if (!(e instanceof client.ResponseBodyError))
    return new FederationError('token', 'The answer of the provider to the token request is not a token response.')
  if (['invalid_client', 'unauthorized_client'].includes(e.error))
    return new FederationError(
      'client',
      'The provider refused the client id, the client secret or the client authentication method.',
    )
  return new FederationError('code', `The provider refused the code${safeWord(e.error)}.`)
}
