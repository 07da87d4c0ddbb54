import { hash } from 'node:crypto'

const start = Buffer.of(0)

/**
 * Returns the hash of an event: SHA-256 of 00, the hash at the previous sequence number, the sequence number, and the
 * event (RFC 8785).
 */
export function auditHash(before: Uint8Array, seq: number, record: string): Buffer {
  const place = Buffer.alloc(8)
  place.writeBigUInt64BE(BigInt(seq))
  return hash('sha256', Buffer.concat([start, before, place, Buffer.from(record)]), 'buffer')
}

/** The hash before the first sequence number. */
export const noHash: Buffer = Buffer.alloc(32)
