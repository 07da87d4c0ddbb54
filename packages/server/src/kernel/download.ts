import type { Readable } from 'node:stream'

/** Positions of the first and the last byte, both included. */
export type ByteRange = { first: number; last: number }

/** Bytes that are read while they are sent. The request pipeline decides which range is sent, if any. */
export class Download {
  readonly size: number
  /** SHA-256, hexadecimal. It is also the ETag. */
  readonly sha256: string
  /** File name for the client: letters, digits and `._+-`. */
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
