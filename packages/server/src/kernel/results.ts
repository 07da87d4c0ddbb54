import type { Readable } from 'node:stream'
import type { Actor } from './actor.ts'

const fewBytes = 4096

/**
 * Result of a read with a tag of its content: bytes that are made once and sent unchanged, or a value that the pipeline
 * serialises. The pipeline alone decides whether to send it or 304. Without a tag it is always sent.
 */
export class Representation<T> {
  #text: string | undefined
  /** Strong ETag, in quotes. */
  readonly etag: string | undefined
  readonly content: T | Buffer
  constructor(tag: string | undefined, content: T | Buffer) {
    this.etag = tag === undefined ? undefined : `"${tag}"`
    this.content = content
  }
  /**
   * A small number of bytes as latin1 text: Node writes text in one piece with the head, but bytes as a second piece.
   */
  get text(): string | undefined {
    const { content } = this
    if (Buffer.isBuffer(content) && content.length <= fewBytes) this.#text ??= content.toString('latin1')
    return this.#text
  }
}

/** Returns the current actor; undefined if the caller is no longer authorised. */
export type Stands = () => Promise<Actor | undefined>

/** Bytes that are generated while they are sent, of unknown length. The reader's speed sets the pace. */
export class Streamed {
  /** One of the media types of the contract. */
  readonly type: string
  /** File name: letters, digits and `._+-`. Undefined: the bytes are an event stream, not a file. */
  readonly filename: string | undefined
  /**
   * Refuses before the first byte, or starts. `ended` aborts when the reader stops, at the end or before. `stands`
   * checks the caller again and returns its current state, since a credential may end during a long stream.
   */
  readonly open: (ended: AbortSignal, stands: Stands) => Promise<AsyncIterable<Uint8Array>>
  constructor(given: { type: string; filename?: string }, open: Streamed['open']) {
    this.type = given.type
    this.filename = given.filename
    this.open = open
  }
}

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
