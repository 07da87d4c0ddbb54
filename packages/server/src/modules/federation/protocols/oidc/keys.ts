import type { JWK, JWTVerifyGetKey } from 'jose'
import type { Outbound } from '../../../../outbound/outbound.ts'
import { FederationError } from '../proven-identity.ts'
import { loadJose, outboundErrorIn } from './library.ts'

export type ProviderKeys = { find: JWTVerifyGetKey; count: number }

const maxKeys = 50
/** Base64url length of an RSA modulus of 8192 bits. Verifying with a longer one takes seconds. */
const maxNumberLength = 1366
const maxNameLength = 512

/** Reads the signing keys that a provider publishes. Throws FederationError. */
export async function readKeys(outbound: Pick<Outbound, 'request'>, jwksUri: string): Promise<ProviderKeys> {
  const keys = keysIn(await read(outbound, jwksUri)).flatMap(usable)
  if (keys.length === 0) throw unusable('The provider publishes no supported key for ID tokens.')
  if (keys.length > maxKeys) throw unusable(`The provider publishes more than ${maxKeys} keys.`)
  const { createLocalJWKSet } = await loadJose()
  return { find: createLocalJWKSet({ keys }), count: keys.length }
}
const unusable = (message: string) => new FederationError('keys', message)

async function read(outbound: Pick<Outbound, 'request'>, jwksUri: string): Promise<string> {
  try {
    const headers = { accept: 'application/jwk-set+json, application/json' }
    const { status, body } = await outbound.request(jwksUri, { headers })
    if (status === 200) return body.toString()
    throw unusable(`The provider answered ${status} at the URL of its keys (jwks_uri); redirects are not followed.`)
  } catch (e) {
    const refused = outboundErrorIn(e)
    if (!refused) throw e
    throw new FederationError('unreachable', `The keys of the provider could not be read: ${refused.message}`)
  }
}

function keysIn(text: string): readonly unknown[] {
  try {
    const { keys } = JSON.parse(text) as { keys?: unknown }
    if (Array.isArray(keys)) return keys
  } catch {}
  throw unusable('The document at the URL of the keys is not a JWK set.')
}

/** Returns the public part of a signing key, with bounded lengths. Other members are dropped. */
function usable(value: unknown): JWK[] {
  if (typeof value !== 'object' || value === null) return []
  const given = value as Readonly<Record<string, unknown>>
  const text = (name: string, max: number) => {
    const found = given[name]
    return typeof found === 'string' && found.length <= max ? { [name]: found } : {}
  }
  const key: JWK = {
    ...text('kty', maxNameLength),
    ...text('kid', maxNameLength),
    ...text('alg', maxNameLength),
    ...text('crv', maxNameLength),
    ...text('n', maxNumberLength),
    ...text('e', maxNumberLength),
    ...text('x', maxNumberLength),
    ...text('y', maxNumberLength),
  }
  const isForSigning = given.use === undefined || given.use === 'sig'
  const isWhole =
    (key.kty === 'RSA' && key.n !== undefined && key.e !== undefined) ||
    (key.kty === 'EC' && key.crv === 'P-256' && key.x !== undefined && key.y !== undefined) ||
    (key.kty === 'OKP' && key.crv === 'Ed25519' && key.x !== undefined)
  // A key whose id was dropped for its length would match every key id.
  const isNamed = given.kid === undefined || key.kid !== undefined
  return isForSigning && isWhole && isNamed && (given.alg === undefined || key.alg !== undefined) ? [key] : []
}
