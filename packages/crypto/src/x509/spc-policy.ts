import { refuse } from '../errors.ts'
import { readDer } from './der-read.ts'
import { integer, objectIdentifier, octetString, sequence, tags, utf8String } from './der-write.ts'
import { type Extension, extension } from './extensions.ts'
import { type Oid, oid, oids } from './oids.ts'

/** The policy that a device had when its certificate was issued; `digest` is SHA-256 in hex. */
export type SpcPolicy = { bundleVersion: number; channel: string; digest: string }

/** The number that RFC 5612 reserves for examples. An operator configures their own. */
export const defaultOidArc = '1.3.6.1.4.1.32473'
const defaultPolicyOid = oid(`${defaultOidArc}.1.1`)
/** Throws RangeError for an arc that is no object identifier. */
export const policyOid = (arc: string): Oid => (arc === defaultOidArc ? defaultPolicyOid : oid(`${arc}.1.1`))

const structureVersion = 1

/** `SEQUENCE { version INTEGER (1), bundleVersion INTEGER, channel UTF8String, digestAlg OID, digest OCTET STRING }` */
export function policyExtension(type: Oid, { bundleVersion, channel, digest }: SpcPolicy): Buffer {
  if (!/^[0-9a-f]{64}$/.test(digest)) refuse('malformed', 'the policy digest is not SHA-256 in hexadecimal')
  const value = sequence(
    integer(structureVersion),
    integer(bundleVersion),
    utf8String(channel),
    objectIdentifier(oids.sha256),
    octetString(Buffer.from(digest, 'hex')),
  )
  return extension(type, false, value)
}

export function readPolicy({ value }: Extension): SpcPolicy {
  return readDer(value, (reader) => {
    const parts = reader.sequence()
    if (parts.number() !== structureVersion) refuse('malformed', 'the version of the policy extension is not supported')
    const [bundleVersion, channel] = [parts.number(), parts.utf8()]
    if (parts.oid() !== oids.sha256) refuse('malformed', 'the policy digest is not SHA-256')
    const digest = parts.content(tags.octetString).toString('hex')
    parts.done()
    return { bundleVersion, channel, digest }
  })
}
