import { type PublicJwk, parsePublicJwk, type SigningAlg, thumbprint } from '@holdfast/crypto'
import { BoundedMap } from '../../../../kernel/bounded-map.ts'
import { type Cryptoki, CryptokiError, loadCryptoki, memory, wordBytes } from './cryptoki.ts'
import type { TokenPlace } from './messages.ts'
import { openTokenSessions } from './slots.ts'

const mechanism = { makeEcPair: 0x1040, ecdsa: 0x1041 }
const attribute = {
  class: 0x00,
  token: 0x01,
  private: 0x02,
  label: 0x03,
  id: 0x102,
  sensitive: 0x103,
  encrypt: 0x104,
  decrypt: 0x105,
  wrap: 0x106,
  unwrap: 0x107,
  sign: 0x108,
  verify: 0x10a,
  derive: 0x10c,
  extractable: 0x162,
  ecParams: 0x180,
  ecPoint: 0x181,
}
const privateKeyClass = 3n
/** A key is two objects. A restored token may have some twice. */
const objectsMost = 8
const handlesMost = 10_000
/** Return values for a cached handle whose object was destroyed, perhaps by another replica. */
const goneHandles = new Set([0x60, 0x82])

const hex = (digits: string) => Buffer.from(digits, 'hex')
/** Named curves as DER (RFC 5480 §2.1.1.1), and the bytes of a coordinate. */
const curves = {
  ES256: { crv: 'P-256', params: hex('06082a8648ce3d030107'), bytes: 32 },
  ES384: { crv: 'P-384', params: hex('06052b81040022'), bytes: 48 },
} as const

const held = (bytes: Buffer): Buffer => {
  const copy = memory(bytes.length)
  bytes.copy(copy)
  return copy
}
const yes = held(Buffer.from([1]))
const no = held(Buffer.from([0]))
const number = (value: bigint): Buffer => {
  const bytes = memory(wordBytes)
  bytes.writeBigUInt64LE(value)
  return bytes
}

/** Reads the key's point as a token returns it: uncompressed (SEC 1 §2.3.3), in an OCTET STRING or raw. */
function publicJwkOf(point: Buffer, { crv, bytes }: (typeof curves)[keyof typeof curves]): PublicJwk {
  const raw = point.subarray(-(1 + 2 * bytes))
  if (raw.length !== 1 + 2 * bytes || raw[0] !== 4)
    throw new Error('the token does not return the public point of its new key')
  const coordinate = (from: number) => raw.subarray(from, from + bytes).toString('base64url')
  return parsePublicJwk({ kty: 'EC', crv, x: coordinate(1), y: coordinate(1 + bytes) })
}

/** The keys in a token. The CKA_ID of each object is the key's thumbprint (RFC 7638). */
export async function openToken(place: TokenPlace) {
  const cryptoki = loadCryptoki(place.library)
  const { inSession } = await openTokenSessions(cryptoki, place)
  const handles = new BoundedMap<string, bigint>(handlesMost)

  const idOf = (kid: string) => held(Buffer.from(kid, 'base64url'))
  async function findFirst(session: bigint, entries: readonly (readonly [number, Buffer])[]) {
    const found = memory(wordBytes)
    const count = memory(wordBytes)
    await cryptoki.call('C_FindObjectsInit', session, cryptoki.template(entries), entries.length)
    await cryptoki.call('C_FindObjects', session, found, 1, count)
    await cryptoki.call('C_FindObjectsFinal', session)
    return count.readBigUInt64LE() === 0n ? undefined : found.readBigUInt64LE()
  }
  async function privateHandle(session: bigint, kid: string): Promise<bigint> {
    const handle = await findFirst(session, [
      [attribute.class, number(privateKeyClass)],
      [attribute.id, idOf(kid)],
    ])
    if (handle === undefined) throw new Error(`the token has no key ${kid}`)
    handles.set(kid, handle)
    return handle
  }
  async function signWith(session: bigint, handle: bigint, digest: Buffer): Promise<Uint8Array> {
    const signature = memory(2 * digest.length)
    const length = number(BigInt(signature.length))
    await cryptoki.call('C_SignInit', session, cryptoki.template([[mechanism.ecdsa, memory(0)]]), handle)
    await cryptoki.call('C_Sign', session, digest, digest.length, signature, length)
    return signature.subarray(0, Number(length.readBigUInt64LE()))
  }

  return {
    make: (alg: SigningAlg, purpose: string): Promise<PublicJwk> => {
      if (alg === 'Ed25519') throw new Error('keys in a token must be P-256 or P-384 keys')
      return inSession((session) => makePair(cryptoki, session, alg, purpose))
    },

    /** Signs the digest without hashing it again; returns raw r‖s. */
    sign: async (kid: string, given: Uint8Array): Promise<Uint8Array> => {
      const digest = held(Buffer.from(given))
      const known = handles.get(kid)
      if (known !== undefined)
        try {
          return await inSession((session) => signWith(session, known, digest))
        } catch (e) {
          handles.delete(kid)
          if (!(e instanceof CryptokiError && goneHandles.has(e.rv))) throw e
        }
      return inSession(async (session) => signWith(session, await privateHandle(session, kid), digest))
    },

    /** Destroys both objects of the pair. Idempotent. */
    destroy: (kid: string): Promise<null> =>
      inSession(async (session) => {
        handles.delete(kid)
        for (let n = 0; n < objectsMost; n++) {
          const handle = await findFirst(session, [[attribute.id, idOf(kid)]])
          if (handle === undefined) return null
          await cryptoki.call('C_DestroyObject', session, handle)
        }
        throw new Error(`the token reported that it destroyed the key ${kid}, but still has the key`)
      }),
  }
}
export type Token = Awaited<ReturnType<typeof openToken>>

/** Makes a pair that never leaves the token. It gets its id once the public key, and so the thumbprint, is known. */
async function makePair(
  cryptoki: Cryptoki,
  session: bigint,
  alg: keyof typeof curves,
  purpose: string,
): Promise<PublicJwk> {
  const curve = curves[alg]
  const label = held(Buffer.from('holdfast, not yet named'))
  const publicHalf = [
    [attribute.token, yes],
    [attribute.verify, yes],
    [attribute.encrypt, no],
    [attribute.wrap, no],
    [attribute.ecParams, held(curve.params)],
    [attribute.label, label],
  ] as const
  const privateHalf = [
    [attribute.token, yes],
    [attribute.private, yes],
    [attribute.sensitive, yes],
    [attribute.extractable, no],
    [attribute.sign, yes],
    [attribute.decrypt, no],
    [attribute.unwrap, no],
    [attribute.derive, no],
    [attribute.label, label],
  ] as const
  const handles = [memory(wordBytes), memory(wordBytes)] as const
  await cryptoki.call(
    'C_GenerateKeyPair',
    session,
    cryptoki.template([[mechanism.makeEcPair, memory(0)]]),
    ...[cryptoki.template(publicHalf), publicHalf.length],
    ...[cryptoki.template(privateHalf), privateHalf.length],
    ...handles,
  )
  const [publicHandle, privateHandle] = handles.map((handle) => handle.readBigUInt64LE()) as [bigint, bigint]
  try {
    await requireKept(cryptoki, session, privateHandle)
    const jwk = publicJwkOf(await attributeOf(cryptoki, session, publicHandle, attribute.ecPoint), curve)
    const kid = thumbprint(jwk)
    const name = [
      [attribute.id, held(Buffer.from(kid, 'base64url'))],
      [attribute.label, held(Buffer.from(`holdfast ${purpose} ${kid}`))],
    ] as const
    for (const handle of [publicHandle, privateHandle])
      await cryptoki.call('C_SetAttributeValue', session, handle, cryptoki.template(name), name.length)
    return jwk
  } catch (e) {
    for (const handle of [publicHandle, privateHandle])
      await cryptoki.call('C_DestroyObject', session, handle).catch(() => {})
    throw e
  }
}

/** Checks the attributes of the new key: a token may accept a template and apply another one. */
async function requireKept(cryptoki: Cryptoki, session: bigint, handle: bigint): Promise<void> {
  const [sensitive] = await attributeOf(cryptoki, session, handle, attribute.sensitive)
  const [extractable] = await attributeOf(cryptoki, session, handle, attribute.extractable)
  if (sensitive !== 1 || extractable !== 0) throw new Error('the new key in the token is extractable or not sensitive')
}

async function attributeOf(cryptoki: Cryptoki, session: bigint, handle: bigint, type: number): Promise<Buffer> {
  const value = memory(256)
  const template = cryptoki.template([[type, value]])
  await cryptoki.call('C_GetAttributeValue', session, handle, template, 1)
  return value.subarray(0, Number(template.bytes.readBigUInt64LE(2 * wordBytes)))
}
