import { randomBytes } from 'node:crypto'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'

/**
 * Creates an id of a VPN session: a TypeID `vse_…` over a UUIDv7 (RFC 9562 §5.7). Gateways create these ids themselves.
 */
export function newSessionId(now: Date): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(now.getTime(), 0, 6)
  bytes.writeUInt8(0x70 | (bytes.readUInt8(6) & 0x0f), 6)
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8)
  let value = BigInt(`0x${bytes.toString('hex')}`)
  let text = ''
  for (let i = 0; i < 26; i++) {
    text = alphabet.charAt(Number(value & 31n)) + text
    value >>= 5n
  }
  return `vse_${text}`
}
