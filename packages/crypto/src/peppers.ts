import { createHmac, type KeyObject } from 'node:crypto'
import { fromBase62, toBase62 } from './base62.ts'

/**
 * The key for the digests and MACs of tokens minted under one version. A retired pepper belongs to a master key that is
 * not configured any more. Tokens minted under it are still accepted, but not digests that it made last.
 */
export type Pepper = {
  readonly version: number
  /** The version as written in tokens. */
  readonly character: string
  readonly key: KeyObject
  readonly isRetired: boolean
}
/** The peppers of a deployment by version: index n has version n + 1. `current` mints. */
export type Peppers = { readonly current: Pepper; readonly all: readonly Pepper[] }

/** A version is one base62 digit in tokens, and not 0. */
export const mostPeppers = 61

/** `given` is in the order of versions, from 1 on without a gap; `current` is the version that mints. */
export function createPeppers(
  given: readonly { readonly key: KeyObject; readonly isRetired: boolean }[],
  current: number,
): Peppers {
  if (given.length > mostPeppers) throw new RangeError(`more than ${mostPeppers} peppers`)
  const all = given.map((pepper, i) => ({ ...pepper, version: i + 1, character: toBase62(BigInt(i + 1), 1) }))
  const mints = all[current - 1]
  if (!mints || mints.isRetired) throw new RangeError('the current pepper is missing or retired')
  if (all.some(({ key }) => (key.symmetricKeySize ?? 0) < 16))
    throw new RangeError('a pepper must have at least 16 bytes')
  return { current: mints, all }
}

/** Returns the pepper that a token names, or undefined for an unknown version. */
export const pepperNamed = ({ all, current }: Peppers, character: string): Pepper | undefined =>
  // Nearly all tokens name the current one.
  character === current.character ? current : all[Number(fromBase62(character) ?? 0n) - 1]

/** HMAC-SHA-256 under one pepper. */
export const digestUnder = ({ key }: Pepper, text: string | Buffer): Buffer =>
  createHmac('sha256', key).update(text).digest()

/** The stored digest of a secret, and the version of the pepper that made it last. */
export type StoredDigest = { digest: Buffer; version: number }

/**
 * Upgrades a digest to a later version: the digest of each version is the HMAC of the previous one. So this needs no
 * secret, and a credential outlives a master key without being used.
 */
export function takenTo({ all }: Peppers, { digest, version }: StoredDigest, later: number): Buffer {
  let taken = digest
  for (const pepper of all.slice(version, later)) taken = digestUnder(pepper, taken)
  return taken
}

/** Returns every digest that may be stored for a token with this first digest, the newest first. */
export function storedDigests(peppers: Peppers, first: StoredDigest): Buffer[] {
  const found: Buffer[] = []
  let { digest } = first
  for (const pepper of peppers.all.slice(first.version - 1)) {
    if (pepper.version > first.version) digest = digestUnder(pepper, digest)
    if (!pepper.isRetired) found.push(digest)
  }
  return found.reverse()
}

/** Returns the digest, by the current pepper, of a secret that names no pepper. */
export const digestSecret = ({ current }: Peppers, secret: string): StoredDigest => ({
  digest: digestUnder(current, secret),
  version: current.version,
})

/** Returns every digest that may be stored for such a secret: one for each pepper that may have made the first one. */
export const digestsOfSecret = (peppers: Peppers, secret: string): Buffer[] =>
  peppers.all.flatMap((pepper) =>
    storedDigests(peppers, { digest: digestUnder(pepper, secret), version: pepper.version }),
  )
