/** An OBJECT IDENTIFIER as the hex of its content octets, for comparison and for writing. */
export type Oid = string

/**
 * Reads dotted text. Throws RangeError if it is invalid, and for an arc above 2^53, because a UUID arc (`2.25.…`) would
 * be truncated.
 */
export function oid(dotted: string): Oid {
  const arcs = dotted.split('.').map((arc) => (/^(0|[1-9]\d*)$/.test(arc) ? Number(arc) : Number.NaN))
  const [first = Number.NaN, second = Number.NaN, ...rest] = arcs
  if (!arcs.every(Number.isSafeInteger) || first > 2 || !(second < (first === 2 ? 1000 : 40)))
    throw new RangeError('the value is not an object identifier')
  return [first * 40 + second, ...rest].map(base128).join('')
}

/** X.690 §8.19.2: seven bits to an octet, the top bit set in all but the last. */
function base128(arc: number): string {
  const octets = [arc % 128]
  for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128)) octets.unshift((left % 128) | 128)
  return Buffer.from(octets).toString('hex')
}

export const oids = {
  organization: oid('2.5.4.10'),
  commonName: oid('2.5.4.3'),
  subjectKeyIdentifier: oid('2.5.29.14'),
  keyUsage: oid('2.5.29.15'),
  subjectAltName: oid('2.5.29.17'),
  basicConstraints: oid('2.5.29.19'),
  cRLNumber: oid('2.5.29.20'),
  cRLReason: oid('2.5.29.21'),
  cRLDistributionPoints: oid('2.5.29.31'),
  authorityKeyIdentifier: oid('2.5.29.35'),
  extKeyUsage: oid('2.5.29.37'),
  authorityInfoAccess: oid('1.3.6.1.5.5.7.1.1'),
  clientAuth: oid('1.3.6.1.5.5.7.3.2'),
  ipsecIKE: oid('1.3.6.1.5.5.7.3.17'),
  ocsp: oid('1.3.6.1.5.5.7.48.1'),
  ocspBasic: oid('1.3.6.1.5.5.7.48.1.1'),
  ocspNonce: oid('1.3.6.1.5.5.7.48.1.2'),
  caIssuers: oid('1.3.6.1.5.5.7.48.2'),
  sha1: oid('1.3.14.3.2.26'),
  sha256: oid('2.16.840.1.101.3.4.2.1'),
} as const
