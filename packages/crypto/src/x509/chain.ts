import { CryptoError, refuse } from '../errors.ts'
import { type Certificate, readCertificate } from './certificate.ts'
import {
  keyUsages,
  readAuthorityKeyIdentifier,
  readBasicConstraints,
  readKeyUsage,
  requireKnown,
} from './extensions.ts'
import { subjectKeyOf } from './issuer.ts'
import { readName } from './name.ts'
import { oids } from './oids.ts'
import { importSpki, isSignedBy } from './signed.ts'

export type ChainOptions = {
  intermediates: readonly (string | Uint8Array)[]
  anchors: readonly (string | Uint8Array)[]
  at: Date
}

/** Most certificates below the anchor: an SPC, its issuing CA, and two roots that older ones certified. */
const maxDepth = 4
const maxGiven = 16
/** Bounds the work for a leaf, however the certificates are crossed. */
const maxSignatureChecks = 16

/**
 * Finds a path from a certificate, an SPC or that of a CA, over intermediates and cross certificates to an anchor, at
 * most four certificates below it (RFC 5280 §6.1). It checks every signature, validity, `cA`, path length and key usage
 * on the path, and that all certificates belong to one tenant. An anchor is trusted by its name and key while it is
 * valid. Returns the path as DER, leaf first and anchor last.
 * Throws `malformed`, `bad_algorithm` for a leaf that cannot be read or for too many certificates, `expired` or
 * `not_yet_valid` for the leaf. Without a path it throws the reason of the first failed step, or `wrong_issuer` if no
 * step was possible.
 */
export function verifyChain(leaf: string | Uint8Array, { intermediates, anchors, at }: ChainOptions): Buffer[] {
  if (intermediates.length > maxGiven || anchors.length > maxGiven) refuse('malformed', 'too many certificates')
  const first = readCertificate(leaf)
  requireUsable(first, at)
  const search = createSearch(readable(anchors), readable(intermediates), at)
  return search([first]).map(({ der }) => der)
}

/** Skips certificates that cannot be read: their algorithm may be a future one. */
const readable = (certificates: ChainOptions['anchors']): Certificate[] =>
  certificates.flatMap((one) => {
    try {
      return readCertificate(one)
    } catch (error) {
      if (!(error instanceof CryptoError)) throw error
      return []
    }
  })

function createSearch(anchors: readonly Certificate[], intermediates: readonly Certificate[], at: Date) {
  let checksLeft = maxSignatureChecks
  let firstRefusal: CryptoError | undefined

  /** Keeps the reason of the first failed step up to an issuer, in case there is no path. */
  function isStep(last: Certificate, issuer: Certificate, requireMore: () => void): boolean {
    try {
      if (!names(last, issuer)) return false
      requireUsable(issuer, at)
      requireSameTenant(last, issuer)
      requireMore()
      if (checksLeft === 0) refuse('malformed', 'too many possible chains to a trust anchor')
      checksLeft--
      if (!isSignedBy(last.signed, importSpki(issuer.spki)))
        refuse('bad_signature', 'a certificate is not signed by its issuer')
      return true
    } catch (error) {
      if (!(error instanceof CryptoError)) throw error
      firstRefusal ??= error
      return false
    }
  }
  function extend(path: readonly Certificate[]): readonly Certificate[] | undefined {
    const last = path[path.length - 1]!
    const anchor = anchors.find((issuer) => isStep(last, issuer, () => {}))
    if (anchor) return [...path, anchor]
    if (path.length === maxDepth) return undefined
    for (const issuer of intermediates) {
      if (!isStep(last, issuer, () => requireIssuer(issuer, path))) continue
      const found = extend([...path, issuer])
      if (found) return found
    }
    return undefined
  }

  return (path: readonly Certificate[]): readonly Certificate[] => {
    const found = extend(path)
    if (found) return found
    throw firstRefusal ?? new CryptoError('wrong_issuer', 'no chain leads to a trust anchor')
  }
}

/** True if a certificate names this one as its issuer: by name, and by key if it names a key. */
function names({ issuer, extensions }: Certificate, by: Certificate): boolean {
  if (!issuer.equals(by.subject)) return false
  const named = extensions.get(oids.authorityKeyIdentifier)
  const key = named && readAuthorityKeyIdentifier(named)
  return !key || key.equals(subjectKeyOf(by))
}

/** A certificate is valid from its first to its last instant, both inclusive (RFC 5280 §4.1.2.5). */
function requireUsable({ notBefore, notAfter, extensions }: Certificate, at: Date): void {
  if (!(at >= notBefore)) refuse('not_yet_valid', 'a certificate is not valid yet')
  if (!(at <= notAfter)) refuse('expired', 'a certificate has expired')
  requireKnown(extensions, [oids.basicConstraints, oids.keyUsage])
}

function requireSameTenant(one: Certificate, other: Certificate): void {
  if (readName(one.subject).organization !== readName(other.subject).organization)
    refuse('wrong_context', 'a certificate is issued by a CA of another tenant')
}

/** Requires that this certificate may be above that path. */
function requireIssuer({ extensions }: Certificate, path: readonly Certificate[]): void {
  const constraints = extensions.get(oids.basicConstraints)
  const { ca, pathLength = Number.POSITIVE_INFINITY } = constraints ? readBasicConstraints(constraints) : { ca: false }
  if (!ca) refuse('wrong_issuer', 'the issuer of a certificate is not a CA')
  const usage = extensions.get(oids.keyUsage)
  if (!usage || !(readKeyUsage(usage) & keyUsages.keyCertSign))
    refuse('wrong_issuer', 'the key usage of a CA does not allow it to issue certificates')
  // Certificates issued under their own name do not count (RFC 5280 §6.1.4).
  const between = path.slice(1).filter(({ subject, issuer }) => !subject.equals(issuer)).length
  if (between > pathLength) refuse('wrong_issuer', 'the chain is longer than a CA allows')
}
