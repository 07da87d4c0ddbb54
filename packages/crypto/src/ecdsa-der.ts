/**
 * Returns the content of a DER INTEGER. It has no leading zeros, except one where the top bit would read as a sign
 * (X.690 §8.3.2).
 */
export function integerContent(magnitude: Uint8Array): Buffer {
  let start = 0
  while (start < magnitude.length - 1 && magnitude[start] === 0) start++
  const digits = magnitude.subarray(start)
  return (digits[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.of(0), digits]) : Buffer.from(digits)
}

/** Writes `bytes` from `start` to `end` as a DER INTEGER. Returns the position after it. */
function putInteger(der: Buffer, at: number, bytes: Uint8Array, start: number, end: number): number {
  let from = start
  while (from < end - 1 && bytes[from] === 0) from++
  const readsAsNegative = (bytes[from] ?? 0) > 0x7f
  der[at] = 0x02
  der[at + 1] = end - from + (readsAsNegative ? 1 : 0)
  let to = at + 2
  if (readsAsNegative) der[to++] = 0
  while (from < end) der[to++] = bytes[from++] ?? 0
  return to
}

/**
 * Converts an ECDSA-Sig-Value (RFC 3279 §2.2.3), as the platform writes it, to the raw r‖s of JWS with `length` bytes.
 * Throws RangeError if its numbers do not fit.
 */
export function rawFromDer(der: Uint8Array, length: number): Buffer {
  const half = length / 2
  const raw = Buffer.alloc(length)
  let at = 2
  for (const end of [half, length]) {
    const next = at + 2 + der[at + 1]!
    let from = at + 2
    while (from < next && der[from] === 0) from++
    if (next - from > half) throw new RangeError('the signature belongs to a larger curve')
    raw.set(der.subarray(from, next), end - (next - from))
    at = next
  }
  return raw
}

/**
 * Converts the raw r‖s of JWS to an ECDSA-Sig-Value (RFC 3279 §2.2.3), as X.509 requires it. For curves up to 384 bits.
 */
export function derFromRaw(signature: Uint8Array): Buffer {
  const half = signature.length / 2
  if (half !== 32 && half !== 48) throw new RangeError('the value is not a raw P-256 or P-384 signature')
  const der = Buffer.allocUnsafe(2 + 2 * (half + 3))
  const end = putInteger(der, putInteger(der, 2, signature, 0, half), signature, half, 2 * half)
  der[0] = 0x30
  der[1] = end - 2
  return der.subarray(0, end)
}
