import { hash } from 'node:crypto'
import { refuse } from '../errors.ts'
import { type DerReader, readDer } from './der-read.ts'
import {
  boolean,
  context,
  contextOf,
  element,
  integer,
  objectIdentifier,
  octetString,
  sequence,
  tags,
} from './der-write.ts'
import { type Oid, oids } from './oids.ts'

export type Extension = { critical: boolean; value: Buffer }
export type Extensions = ReadonlyMap<Oid, Extension>

/** RFC 5280 §4.1: `critical` is written only if it is set (X.690 §11.5). */
export const extension = (type: Oid, critical: boolean, value: Buffer): Buffer =>
  sequence(objectIdentifier(type), ...(critical ? [boolean(true)] : []), octetString(value))

/** Throws `malformed`, also for an extension that occurs twice (RFC 5280 §4.2). */
export function readExtensions(reader: DerReader): Extensions {
  const list = reader.sequence()
  const found = new Map<Oid, Extension>()
  while (!list.isDone) {
    const one = list.sequence()
    const type = one.oid()
    const critical = one.isAt(tags.boolean) && one.boolean()
    const value = one.content(tags.octetString)
    one.done()
    if (found.has(type)) refuse('malformed', 'an extension is present twice')
    found.set(type, { critical, value })
  }
  return found
}

/** Reads the same inside an explicit tag, which must contain nothing else. */
export function readTaggedExtensions(tagged: DerReader): Extensions {
  const found = readExtensions(tagged)
  tagged.done()
  return found
}

/** Throws `malformed` for a critical extension that is not among these (RFC 5280 §4.2). */
export function requireKnown(extensions: Extensions, known: readonly Oid[]): void {
  for (const [type, { critical }] of extensions)
    if (critical && !known.includes(type)) refuse('malformed', 'a critical extension is not supported')
}

/** The bits of RFC 5280 §4.2.1.3 that are used here, as in the first octet. */
export const keyUsages = { digitalSignature: 0x80, keyCertSign: 0x04, cRLSign: 0x02 } as const

/** A named bit list leaves out the bits after the last one that is set (X.690 §11.2.2). */
export function keyUsage(bits: number): Buffer {
  const unused = 31 - Math.clz32(bits & -bits)
  return extension(oids.keyUsage, true, element(tags.bitString, Buffer.of(unused, bits)))
}
export function readKeyUsage({ value }: Extension): number {
  const content = readDer(value, (reader) => reader.content(tags.bitString))
  return content.length > 1 ? content[1]! : refuse('malformed', 'the key usage is empty')
}

type BasicConstraints = { ca: boolean; pathLength?: number }
export function basicConstraints({ ca, pathLength }: BasicConstraints): Buffer {
  const parts = [...(ca ? [boolean(true)] : []), ...(pathLength === undefined ? [] : [integer(pathLength)])]
  return extension(oids.basicConstraints, true, sequence(...parts))
}
export function readBasicConstraints({ value }: Extension): BasicConstraints {
  return readDer(value, (reader) => {
    const parts = reader.sequence()
    const ca = parts.isAt(tags.boolean) && parts.boolean()
    const length = parts.isDone ? undefined : parts.number()
    parts.done()
    return length === undefined ? { ca } : { ca, pathLength: length }
  })
}

/** RFC 7093 §2 method 1: the leftmost 160 bits of SHA-256 over the key bits, in place of SHA-1. */
export const keyIdentifierOf = (spki: Buffer): Buffer => hash('sha256', keyBits(spki), 'buffer').subarray(0, 20)

/** Returns the content of the BIT STRING of a SubjectPublicKeyInfo. */
export function keyBits(spki: Buffer): Buffer {
  return readDer(spki, (reader) => {
    const parts = reader.sequence()
    parts.sequence()
    const bits = parts.bitString()
    parts.done()
    return bits
  })
}

export const subjectKeyIdentifier = (id: Buffer): Buffer => extension(oids.subjectKeyIdentifier, false, octetString(id))
export const readSubjectKeyIdentifier = ({ value }: Extension): Buffer =>
  readDer(value, (reader) => reader.content(tags.octetString))

export const authorityKeyIdentifier = (id: Buffer): Buffer =>
  extension(oids.authorityKeyIdentifier, false, sequence(element(context(0), id)))
/** Undefined if it names the issuer in another way than by its key. */
export const readAuthorityKeyIdentifier = ({ value }: Extension): Buffer | undefined =>
  readDer(value, (reader) => reader.sequence().implicit(0))

/** RFC 5280 §4.2.1.6: uniformResourceIdentifier, in ASCII. */
const uri = (text: string) =>
  /^[\x21-\x7e]+$/.test(text)
    ? element(context(6), Buffer.from(text, 'latin1'))
    : refuse('malformed', 'a URI of the certificate is not ASCII')

export const uriAltName = (text: string): Buffer => extension(oids.subjectAltName, false, sequence(uri(text)))
/** Throws `malformed` unless it is exactly one URI. */
export function readUriAltName({ value }: Extension): string {
  return readDer(value, (reader) => {
    const names = reader.sequence()
    const text = names.implicit(6)?.toString('latin1') ?? refuse('malformed', 'the alternative name is not a URI')
    names.done()
    return text
  })
}

export const extendedKeyUsage = (...uses: readonly Oid[]): Buffer =>
  extension(oids.extKeyUsage, false, sequence(...uses.map(objectIdentifier)))
export function readExtendedKeyUsage({ value }: Extension): Oid[] {
  return readDer(value, (reader) => {
    const list = reader.sequence()
    const uses: Oid[] = []
    while (!list.isDone) uses.push(list.oid())
    return uses
  })
}

/** RFC 5280 §4.2.1.13: one point, by its full name. */
export const crlDistributionPoint = (url: string): Buffer =>
  extension(
    oids.cRLDistributionPoints,
    false,
    sequence(sequence(element(contextOf(0), element(contextOf(0), uri(url))))),
  )

/** RFC 5280 §4.2.2.1: URLs of the issuer's OCSP responder and certificate. */
export const authorityInfoAccess = (methods: readonly (readonly [method: Oid, url: string])[]): Buffer =>
  extension(
    oids.authorityInfoAccess,
    false,
    sequence(...methods.map(([method, url]) => sequence(objectIdentifier(method), uri(url)))),
  )
