/** Content of a DER INTEGER: no leading zeros, but one where the top bit would read as a sign (X.690 §8.3.2). */
export function integerContent(magnitude: Uint8Array): Buffer {
  let start = 0
  while (start < magnitude.length - 1 && magnitude[start] === 0) start++
  const digits = magnitude.subarray(start)
  return (digits[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.of(0), digits]) : Buffer.from(digits)
}

function derInteger(magnitude: Uint8Array): Buffer {
  const content = integerContent(magnitude)
  return Buffer.concat([Buffer.of(0x02, content.length), content])
}

/** ECDSA-Sig-Value (RFC 3279 §2.2.3), as X.509 wants it, from the raw r‖s of JWS. For curves up to 384 bits. */
export function derFromRaw(signature: Uint8Array): Buffer {
  const half = signature.length / 2
  if (half !== 32 && half !== 48) throw new RangeError('not a raw P-256 or P-384 signature')
  const body = Buffer.concat([derInteger(signature.subarray(0, half)), derInteger(signature.subarray(half))])
  return Buffer.concat([Buffer.of(0x30, body.length), body])
}
