import type { Configuration, CustomFetch } from 'openid-client'
import { FederationError } from '../proven.ts'
import { loadClient, outboundErrorIn } from './library.ts'
import type { Metadata } from './metadata.ts'

export type Known = {
  redirectUri: string
  state: string
  nonce: string
  verifier: string
  maxAgeSeconds?: number | undefined
}

/**
 * Says of an answer that the library would refuse what is wrong with it. The library looks again, and alone sends the
 * code.
 */
function checkAnswer(answer: URLSearchParams, known: Known, metadata: Metadata): void {
  if (!known.state || !known.nonce || !known.verifier)
    throw new FederationError('state', 'What this sign-in began with is not known.')
  const [state, otherState] = answer.getAll('state')
  if (state !== known.state || otherState !== undefined)
    throw new FederationError('state', 'The answer does not belong to this sign-in.')
  const [issuer, otherIssuer] = answer.getAll('iss')
  const isMissing = issuer === undefined && metadata.authorization_response_iss_parameter_supported
  if (isMissing || (issuer !== undefined && issuer !== metadata.issuer) || otherIssuer !== undefined)
    throw new FederationError('issuer', 'The answer is not from the provider that was asked.')
  const [error] = answer.getAll('error')
  if (error !== undefined)
    throw new FederationError('denied', `The provider did not sign the person in${safeWord(error)}.`)
  if (answer.getAll('code').length !== 1 || answer.get('code') === '')
    throw new FederationError('code', 'The answer holds no code.')
}
/** A word of the provider's, where it is one that may be shown. */
export const safeWord = (text: unknown) => (typeof text === 'string' && /^[a-z_]{1,64}$/.test(text) ? ` (${text})` : '')

/** What a token endpoint gave: the ID token, and the access token by which UserInfo is asked. */
type Tokens = { idToken: string; accessToken: string | undefined }
/** An ID token that was verified, and the access token that came with it. */
export type Judged<T> = { verified: T; accessToken: string | undefined }

/** Exchanges the code of an answer for tokens; `judge` verifies the ID token. Throws FederationError. */
export async function exchange<T>(
  configuration: Configuration,
  fetch: CustomFetch,
  { metadata, answer, known }: { metadata: Metadata; answer: URLSearchParams; known: Known },
  judge: (idToken: string) => Promise<T>,
): Promise<Judged<T>> {
  checkAnswer(answer, known, metadata)
  const client = await loadClient()
  let tokens: Tokens | undefined
  configuration[client.customFetch] = async (url, request) => {
    // Providers compare this letter by letter with what the browser was sent with; the library would tidy it up.
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
  // The library reads the claims of the token too; where it refuses them, the judge says in which point.
  const verified = tokens && { verified: await judge(tokens.idToken), accessToken: tokens.accessToken }
  if (refusal) throw refusal
  if (!verified) throw new FederationError('token', 'The provider gave no ID token for the code.')
  return verified
}

/** The tokens in the answer of a token endpoint, where an ID token is among them. */
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

/** What the library made of an answer to a code. */
export function toFederationError(e: unknown, client: Awaited<ReturnType<typeof loadClient>>): FederationError {
  const refused = outboundErrorIn(e)
  if (refused) return new FederationError('unreachable', `The code could not be exchanged: ${refused.message}`)
  if (!(e instanceof client.ResponseBodyError))
    return new FederationError('token', 'What the provider answered to the code is no such document.')
  if (['invalid_client', 'unauthorized_client'].includes(e.error))
    return new FederationError('client', 'The provider does not accept our client id, its secret, or how it was sent.')
  return new FederationError('code', `The provider refused the code${safeWord(e.error)}.`)
}
