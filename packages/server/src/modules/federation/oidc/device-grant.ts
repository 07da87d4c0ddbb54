import type { Configuration, CustomFetch } from 'openid-client'
import { day, second } from '../../../kernel/time.ts'
import { FederationError } from '../proven.ts'
import { type Judged, safeWord, toFederationError, tokensIn } from './exchange.ts'
import { loadClient, outboundErrorIn } from './library.ts'

/** What a provider answered to a device authorization request (RFC 8628 §3.2). */
export type DeviceAuthorization = {
  deviceCode: string
  userCode: string
  verificationUri: string
  verificationUriComplete: string | null
  intervalSeconds: number
  expiresInSeconds: number
}
/** Not yet: the person has not decided, we ask too often, or the provider gives no answer that says anything. */
export type NotYet = 'pending' | 'slow_down' | 'away'

const grantType = 'urn:ietf:params:oauth:grant-type:device_code'
/** Where the provider says nothing (§3.5). */
const usualInterval = 5
/** Nobody waits longer; a provider may say any number. */
const longestSeconds = day / second
const longestCode = 4096
const longestUri = 2048
/** What a person reads off a screen and types. */
const readable = /^[\x21-\x7e](?:[\x20-\x7e]{0,62}[\x21-\x7e])?$/

/** Begins a grant. Throws FederationError. */
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
const unusable = (what: string) => new FederationError('code', `The provider gave no usable ${what} for a device.`)

/** Somebody opens this: an address of the web in its one spelling, encrypted wherever the issuer is. */
function shownUri(text: string, issuer: string): string {
  const url = text.length <= longestUri && URL.canParse(text) ? new URL(text) : undefined
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && issuer.startsWith('http:'))
  if (!url || !isSafe || url.username || url.password) throw unusable('verification_uri')
  return url.href
}

/**
 * Asks once whether somebody has approved the device. The ID token that comes then is for `judge`. Throws
 * FederationError where it is no use to ask again.
 */
export async function redeemDeviceCode<T>(
  configuration: Configuration,
  fetch: CustomFetch,
  deviceCode: string,
  judge: (idToken: string) => Promise<T>,
): Promise<Judged<T> | NotYet> {
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
  // The library reads the claims of the token too; where it refuses them, the judge says in which point.
  const verified = tokens && { verified: await judge(tokens.idToken), accessToken: tokens.accessToken }
  if (refusal) throw toFederationError(refusal.e, client)
  if (!verified) throw new FederationError('token', 'The provider gave no ID token for the device.')
  return verified
}

/** Throws FederationError for what the person or the provider has said for good (§3.5). */
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
      throw new FederationError('denied', `The person did not approve the device${safeWord(e.error)}.`)
    case 'expired_token':
      throw new FederationError('expired', 'Nobody approved the device in time.')
    default:
      return undefined
  }
}
