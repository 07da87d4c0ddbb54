import { hash } from 'node:crypto'

const start = Buffer.of(0)

/** What the hash of an event is: SHA-256 of 00, the hash of the place before, the place, and the event (RFC 8785). */
export function auditHash(before: Uint8Array, seq: number, record: string): Buffer {
  const place = Buffer.alloc(8)
  place.writeBigUInt64BE(BigInt(seq))
  return hash('sha256', Buffer.concat([start, before, place, Buffer.from(record)]), 'buffer')
}

/** Before the first place. */
export const noHash: Buffer = Buffer.alloc(32)
