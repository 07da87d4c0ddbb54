import type { Configuration, CustomFetch } from 'openid-client'
import { day, second } from '../../../../kernel/time.ts'
import { FederationError } from '../proven-identity.ts'
import { safeWord, toFederationError, tokensIn, type VerifiedTokens } from './exchange.ts'
import { loadClient, outboundErrorIn } from './library.ts'

/** A provider's answer to a device authorization request (RFC 8628 §3.2). */
export type DeviceAuthorization = {
  deviceCode: string
  userCode: string
  verificationUri: string
  verificationUriComplete: string | null
  intervalSeconds: number
  expiresInSeconds: number
}
/** No decision yet: the person has not decided, the polls are too frequent, or the provider gave no usable answer. */
export type NotYet = 'pending' | 'slow_down' | 'away'

const grantType = 'urn:ietf:params:oauth:grant-type:device_code'
/** Interval in seconds if the provider names none (§3.5). */
const usualInterval = 5
/** Upper bound for the provider's `expires_in`. */
const longestSeconds = day / second
const longestCode = 4096
const longestUri = 2048
/** A user code that a person can read off a screen and type. */
const readable = /^[\x21-\x7e](?:[\x20-\x7e]{0,62}[\x21-\x7e])?$/

/** Begins a grant at the provider. Throws FederationError. */
export async function authorizeDevice(
  configuration: Configuration,
  fetch: CustomFetch,
  { scopes, issuer }: { scopes: readonly string[]; issuer: string },
): Promise<DeviceAuthorization> {
  const client = await loadClient()
  configuration[client.customFetch] = fetch
  const scope = [...new Set(['openid', ...scopes])].join(' ')
  const answer = await client.initiateDeviceAuthorization(configuration, { scope }).catch((e: unknown) => {
    throw toFederationError(e, client)
  })
  const { device_code: deviceCode, user_code: userCode, verification_uri_complete: complete } = answer
  const intervalSeconds = Math.ceil(answer.interval ?? usualInterval)
  const expiresInSeconds = Math.min(Math.floor(answer.expires_in), longestSeconds)
  if (deviceCode.length > longestCode || !readable.test(userCode)) throw unusable('user_code')
  if (!(intervalSeconds >= 1 && intervalSeconds < expiresInSeconds)) throw unusable('interval')
  return {
    deviceCode,
    userCode,
    verificationUri: shownUri(answer.verification_uri, issuer),
    verificationUriComplete: complete === undefined ? null : shownUri(complete, issuer),
    intervalSeconds,
    expiresInSeconds,
  }
}
const unusable = (what: string) =>
  new FederationError('code', `The provider answered the device authorization request without a valid ${what}.`)

/**
 * Checks an address that a person opens. It is returned in its normal form, and must be https unless the issuer is
 * http.
 */
function shownUri(text: string, issuer: string): string {
  const url = text.length <= longestUri && URL.canParse(text) ? new URL(text) : undefined
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && issuer.startsWith('http:'))
  if (!url || !isSafe || url.username || url.password) throw unusable('verification_uri')
  return url.href
}

/**
 * Asks once whether somebody has approved the device. `judge` verifies the ID token of the answer. Throws
 * FederationError if another poll is of no use.
 */
export async function redeemDeviceCode<T>(
  configuration: Configuration,
  fetch: CustomFetch,
  deviceCode: string,
  judge: (idToken: string) => Promise<T>,
): Promise<VerifiedTokens<T> | NotYet> {
  const client = await loadClient()
  let status = 0
  let tokens: ReturnType<typeof tokensIn>
  configuration[client.customFetch] = async (url, request) => {
    const response = await fetch(url, request)
    status = response.status
    tokens = tokensIn(await response.clone().text())
    return response
  }
  const refusal = await client.genericGrantRequest(configuration, grantType, { device_code: deviceCode }).then(
    () => undefined,
    (e: unknown) => ({ e }),
  )
  if (refusal) {
    const notYet = notYetOf(refusal.e, status, client)
    if (notYet) return notYet
  }
  // The library checks the claims of the token too. `judge` runs first, so its precise error wins.
  const verified = tokens && { verified: await judge(tokens.idToken), accessToken: tokens.accessToken }
  if (refusal) throw toFederationError(refusal.e, client)
  if (!verified) throw new FederationError('token', 'The provider issued no ID token for the device.')
  return verified
}

/** Returns the state if polling may go on, else undefined. Throws FederationError for a final answer (§3.5). */
function notYetOf(e: unknown, status: number, client: Awaited<ReturnType<typeof loadClient>>): NotYet | undefined {
  const outbound = outboundErrorIn(e)
  if (outbound) return ['refused', 'too_large'].includes(outbound.code) ? undefined : 'away'
  if (!(e instanceof client.ResponseBodyError)) return status >= 500 || status === 429 ? 'away' : undefined
  switch (e.error) {
    case 'authorization_pending':
      return 'pending'
    case 'slow_down':
      return 'slow_down'
    case 'access_denied':
      throw new FederationError('denied', `The user refused to approve the device${safeWord(e.error)}.`)
    case 'expired_token':
      throw new FederationError('expired', 'The device was not approved in time.')
    default:
      return undefined
  }
}
