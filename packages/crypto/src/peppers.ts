import { createHmac, type KeyObject } from 'node:crypto'
import { fromBase62, toBase62 } from './base62.ts'

/**
 * The key of the digests and MACs of tokens that were minted under one version of it. A retired one is that of a master
 * key that is not given any more: tokens minted under it are still read, but no digest counts that it made last.
 */
export type Pepper = {
  readonly version: number
  /** The version as it stands in tokens. */
  readonly character: string
  readonly key: KeyObject
  readonly isRetired: boolean
}
/** The peppers of a deployment by version: the one at place n has version n + 1. `current` mints. */
export type Peppers = { readonly current: Pepper; readonly all: readonly Pepper[] }

/** A version is one base62 digit in tokens, and not 0. */
export const mostPeppers = 61

/** `given` in the order of their versions, from 1 on without a gap; `current` is the version that mints. */
export function createPeppers(
  given: readonly { readonly key: KeyObject; readonly isRetired: boolean }[],
  current: number,
): Peppers {
  if (given.length > mostPeppers) throw new RangeError(`more than ${mostPeppers} peppers`)
  const all = given.map((pepper, i) => ({ ...pepper, version: i + 1, character: toBase62(BigInt(i + 1), 1) }))
  const mints = all[current - 1]
  if (!mints || mints.isRetired) throw new RangeError('the pepper that mints is not there')
  if (all.some(({ key }) => (key.symmetricKeySize ?? 0) < 16)) throw new RangeError('a pepper has at least 16 bytes')
  return { current: mints, all }
}

/** The pepper that a token names; undefined for a version that is not known here. */
export const pepperNamed = ({ all, current }: Peppers, character: string): Pepper | undefined =>
  // Nearly all are of the one that mints.
  character === current.character ? current : all[Number(fromBase62(character) ?? 0n) - 1]

/** HMAC-SHA-256, under one pepper. */
export const digestUnder = ({ key }: Pepper, text: string | Buffer): Buffer =>
  createHmac('sha256', key).update(text).digest()

/** What is stored of a secret, and the version of the pepper that made it last. */
export type StoredDigest = { digest: Buffer; version: number }

/**
 * The same digest as of a later version: that of each version is the HMAC of the one before it. So a stored digest is
 * taken on without the secret that it is of, and nobody need use a credential for it to outlive a master key.
 */
export function takenTo({ all }: Peppers, { digest, version }: StoredDigest, later: number): Buffer {
  let taken = digest
  for (const pepper of all.slice(version, later)) taken = digestUnder(pepper, taken)
  return taken
}

/** Every digest that may be stored of what has this one under the pepper that it names, the newest first. */
export function storedDigests(peppers: Peppers, first: StoredDigest): Buffer[] {
  const found: Buffer[] = []
  let { digest } = first
  for (const pepper of peppers.all.slice(first.version - 1)) {
    if (pepper.version > first.version) digest = digestUnder(pepper, digest)
    if (!pepper.isRetired) found.push(digest)
  }
  return found.reverse()
}

/** What is stored of a secret that says nothing of its pepper, made by the current one. */
export const digestSecret = ({ current }: Peppers, secret: string): StoredDigest => ({
  digest: digestUnder(current, secret),
  version: current.version,
})

/** Every digest that may be stored of such a secret, whichever pepper it began with. */
export const digestsOfSecret = (peppers: Peppers, secret: string): Buffer[] =>
  peppers.all.flatMap((pepper) =>
    storedDigests(peppers, { digest: digestUnder(pepper, secret), version: pepper.version }),
  )
