import { refuse } from '../errors.ts'
import type { Signer } from '../signer.ts'
import { contextOf, element, header, integer, sequence, tags, time } from './der-write.ts'
import { authorityKeyIdentifier, extension } from './extensions.ts'
import { readIssuer, subjectKeyOf } from './issuer.ts'
import { oids } from './oids.ts'
import { type RevocationReason, reasonCodes } from './revocation-reason.ts'
import { algorithmIdentifier, encodeSigned, requireOwnSignature, sign } from './signed.ts'

/** The serial is hex, as in `readSpc` and `certificateInfo`. */
export type RevokedCertificate = { serial: string; revokedAt: Date; reason: RevocationReason }
export type CrlFields = {
  number: bigint | number
  thisUpdate: Date
  nextUpdate: Date
  revoked: Iterable<RevokedCertificate>
}
/** Splits long work: once `isOver` is true, `next` yields to other work. */
export type Slices = { isOver(): boolean; next(): Promise<void> }

const version2 = integer(1)
const entriesAtOnce = 256
/** No reason is written for `unspecified` (RFC 5280 §5.3.1). */
const reasonExtensions = new Map(
  (Object.keys(reasonCodes) as RevocationReason[]).map((reason) => [reason, reasonExtension(reason)]),
)

function reasonExtension(reason: RevocationReason): Buffer {
  if (reason === 'unspecified') return Buffer.alloc(0)
  return sequence(extension(oids.cRLReason, false, element(tags.enumerated, Buffer.of(reasonCodes[reason]))))
}

/**
 * Creates the full CRL of a CA, root or issuing (RFC 5280 §5), as DER. `slices`, if given, makes it yield to other
 * work, because 100,000 entries take long. Throws `wrong_type`, `unknown_key` for a signer that does not belong to the
 * certificate, `malformed`, `bad_signature`.
 */
export async function createCrl(
  signer: Signer,
  issuerCertificate: string | Uint8Array,
  { number, thisUpdate, nextUpdate, revoked }: CrlFields,
  slices?: Slices,
): Promise<Buffer> {
  const issuer = readIssuer(signer, issuerCertificate, 'ca-root', 'ca-issuing')
  if (!(nextUpdate > thisUpdate)) refuse('malformed', 'the next update of the CRL is not after this update')
  const entries = await encodeEntries(revoked, slices)
  const length = entries.reduce((sum, { length }) => sum + length, 0)
  const tbs = sequence(
    version2,
    algorithmIdentifier(signer.alg),
    issuer.subject,
    time(thisUpdate),
    time(nextUpdate),
    // An empty list is left out (RFC 5280 §5.1.2.6).
    ...(length > 0 ? [header(tags.sequence, length), ...entries] : []),
    element(
      contextOf(0),
      sequence(authorityKeyIdentifier(subjectKeyOf(issuer)), extension(oids.cRLNumber, false, integer(number))),
    ),
  )
  // Of a large list each of these steps takes as long as a slice.
  await slices?.next()
  const signed = await sign(signer, tbs)
  await slices?.next()
  requireOwnSignature(signed, signer)
  await slices?.next()
  return encodeSigned(signed)
}

async function encodeEntries(revoked: Iterable<RevokedCertificate>, slices: Slices | undefined): Promise<Buffer[]> {
  const chunks: Buffer[] = []
  let entries: Buffer[] = []
  for (const one of revoked) {
    entries.push(encodeEntry(one))
    if (entries.length < entriesAtOnce) continue
    chunks.push(Buffer.concat(entries))
    entries = []
    if (slices?.isOver()) await slices.next()
  }
  return [...chunks, ...entries]
}

function encodeEntry({ serial, revokedAt, reason }: RevokedCertificate): Buffer {
  if (!/^(?:[0-9a-f]{2}){1,20}$/.test(serial))
    refuse('malformed', 'the serial number is not hexadecimal, or is longer than 20 octets')
  return sequence(integer(Buffer.from(serial, 'hex')), time(revokedAt), reasonExtensions.get(reason)!)
}
