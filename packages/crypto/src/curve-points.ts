/** 2^255 - 19. */
const prime = 2n ** 255n - 19n

const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
const hexNumber = (hex: string): bigint => numberOf(Buffer.from(hex, 'hex'))

/** The u-coordinates of order 8 or less (RFC 7748 §7). With one of them every shared secret is zero. */
const smallX25519: ReadonlySet<bigint> = new Set([
  ...[0n, 1n, prime - 1n],
  hexNumber('e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800'),
  hexNumber('5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157'),
])
/** The y-coordinates of order 8 or less. With such a key one signature is valid for many messages. */
const smallEd25519: ReadonlySet<bigint> = new Set([
  ...[0n, 1n, prime - 1n],
  hexNumber('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05'),
  hexNumber('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a'),
])

/**
 * True if 32 bytes are a usable X25519 public key: in the canonical encoding of its point, and not of small order. A
 * second encoding would be the same key under another name.
 */
export function isX25519Key(bytes: Uint8Array): boolean {
  if (bytes.length !== 32) return false
  const u = numberOf(bytes)
  return u < prime && !smallX25519.has(u)
}

/** Checks the same for Ed25519 (RFC 8032 §5.1.3), whose highest bit is the sign of the other coordinate. */
export function isEd25519Key(bytes: Uint8Array): boolean {
  if (bytes.length !== 32) return false
  const y = BigInt.asUintN(255, numberOf(bytes))
  return y < prime && !smallEd25519.has(y)
}
