import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { decodeUuid62, encodeUuid62, fromBase62, toBase62 } from './base62.ts'
import { digestUnder, type Peppers, pepperNamed, storedDigests } from './peppers.ts'

/**
 * hfk: API key, hfg: gateway service secret, hfe: enrollment or bootstrap token, hfc: enrollment challenge, hfs:
 * session cookie, hfl: a browser that was sent to an identity provider, hfr: the RelayState that it was sent with.
 */
export type TokenPrefix = (typeof prefixes)[number]
/**
 * Content of a token with a valid MAC: its tenant, its id for the look-up, and the version of the pepper that minted
 * it. `digest` is the digest first stored for it, and never changes. The stored digest may be upgraded (`peppers.ts`).
 */
export type PresentedToken<T extends string = string> = {
  prefix: TokenPrefix
  tenant: T
  id: string
  version: number
  digest: Buffer
  token: string
}
/** `hint`: the last four characters, for display. The token itself is shown once. */
export type MintedToken<T extends string = string> = PresentedToken<T> & { hint: string }

const prefixes = ['hfk', 'hfg', 'hfe', 'hfc', 'hfs', 'hfl', 'hfr'] as const
/** Tokens that only the MAC vouches for, or that a row knows for minutes. They end with their master key. */
const shortLived: readonly TokenPrefix[] = ['hfc', 'hfl', 'hfr']
const lengths = { prefix: 4, tenant: 22, id: 16, head: 21, mac: 10, checksum: 6 } as const
const shape = /^(hf[kgecslr])_([0-9A-Za-z]{22})([0-9A-Za-z]{16})[0-9A-Za-z]{22}([0-9A-Za-z]{10})([0-9A-Za-z]{6})$/
const versionAt = lengths.prefix + lengths.tenant + lengths.id
const macAt = versionAt + 1 + lengths.head
const longest = macAt + lengths.mac + lengths.checksum
/**
 * The largest multiple of 62 in a byte. Bytes from here on would favour the first characters, so they are drawn again.
 */
const unbiased = 248

function randomBase62(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < unbiased && text.length < length) text += toBase62(BigInt(byte % 62), 1)
    }
  }
  return text
}

const checksum = (text: string): string => toBase62(BigInt(crc32(text)), lengths.checksum)

/**
 * Returns the 59 bits of the digest that the token itself contains. The 125 random bits of the head still keep it
 * secret.
 */
const macOf = (digest: Buffer): string => toBase62(digest.readBigUInt64BE(0) % 62n ** BigInt(lengths.mac), lengths.mac)

/**
 * Mints `<prefix>_<tenant:22><id:16><secret:32><crc32:6>` in base62. The secret is a key version, 125 random bits and a
 * MAC of everything before it under the pepper. So a token names its tenant, secret scanners find it, typos are
 * detected, and an invented token is refused without a database.
 */
export const mintToken = <T extends string>(peppers: Peppers, prefix: TokenPrefix, tenant: T): MintedToken<T> =>
  mint(peppers, prefix, tenant, randomBase62(lengths.id))

/** Mints a token that is stored nowhere. Its id begins with its expiry, in seconds, and only the MAC vouches for it. */
export const mintChallenge = <T extends string>(peppers: Peppers, tenant: T, expiresAt: Date): MintedToken<T> =>
  mint(peppers, 'hfc', tenant, endOf(expiresAt) + randomBase62(lengths.id - timeDigits))
const endOf = (at: Date) => toBase62(BigInt(Math.floor(at.getTime() / 1000)), timeDigits)
/** Returns the expiry of a challenge that `readToken` accepted. */
export const challengeEnd = ({ id }: Pick<PresentedToken, 'id'>): Date =>
  new Date(Number(fromBase62(id.slice(0, timeDigits))) * 1000)
const timeDigits = 7

/**
 * Returns the nonce that an ID token must have to enroll the device with this key (RFC 7638 thumbprint). So the token
 * enrolls no other key, and is valid for this challenge only.
 */
export const enrollmentNonce = (challenge: string, jkt: string): string =>
  createHash('sha256').update(`${challenge}.${jkt}`).digest('base64url')

function mint<T extends string>(peppers: Peppers, prefix: TokenPrefix, tenant: T, id: string): MintedToken<T> {
  const { current } = peppers
  const signed = `${prefix}_${encodeUuid62(tenant)}${id}${current.character}${randomBase62(lengths.head)}`
  const digest = digestUnder(current, signed)
  const body = signed + macOf(digest)
  const token = body + checksum(body)
  return { prefix, tenant, id, version: current.version, digest, token, hint: token.slice(-4) }
}

/**
 * Undefined for a token that was not minted under the pepper that it names. The database decides if a minted token is
 * still valid. Costs one HMAC, however many peppers there are.
 */
export function readToken(peppers: Peppers, text: string): PresentedToken | undefined {
  if (text.length !== longest) return undefined
  const pepper = pepperNamed(peppers, text[versionAt] ?? '')
  const match = pepper && shape.exec(text)
  const prefix = prefixes.find((p) => p === match?.[1])
  if (!match || !prefix || checksum(text.slice(0, -lengths.checksum)) !== match[5]) return undefined
  if (pepper.isRetired && shortLived.includes(prefix)) return undefined
  const tenant = decodeUuid62(match[2] ?? '')
  if (tenant === undefined) return undefined
  const digest = digestUnder(pepper, text.slice(0, macAt))
  if (!equalDigest(Buffer.from(match[4] ?? ''), Buffer.from(macOf(digest)))) return undefined
  return { prefix, tenant, id: match[3] ?? '', version: pepper.version, digest, token: text }
}

/** True if the stored digest belongs to this token. */
export const isStoredAs = (peppers: Peppers, token: PresentedToken, stored: Uint8Array): boolean =>
  storedDigests(peppers, token).some((digest) => equalDigest(stored, digest))

/** Constant-time for equal lengths. All digests have the same length. */
export function equalDigest(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}
