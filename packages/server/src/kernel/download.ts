import type { Readable } from 'node:stream'

/** From the first to the last byte, both included. */
export type ByteRange = { first: number; last: number }

/** Bytes that are read while they are sent. The pipe alone decides which part of them is sent, and whether any is. */
export class Download {
  readonly size: number
  /** SHA-256, hexadecimal; its ETag. */
  readonly sha256: string
  /** What they are to be called: letters, digits and `._+-`. */
  readonly filename: string
  readonly open: (range: ByteRange | undefined) => Promise<Readable>
  constructor(
    given: Pick<Download, 'size' | 'sha256' | 'filename'>,
    open: (range: ByteRange | undefined) => Promise<Readable>,
  ) {
    this.size = given.size
    this.sha256 = given.sha256
    this.filename = given.filename
    this.open = open
  }
}
