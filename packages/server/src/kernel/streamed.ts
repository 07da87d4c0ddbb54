/** Bytes that are made while they are sent; how many, nobody knows. Whoever takes them sets the pace. */
export class Streamed {
  /** One of those that the contract names. */
  readonly type: string
  /** What they are to be called: letters, digits and `._+-`. */
  readonly filename: string
  /** Refuses before the first byte, or begins; `ended` once nobody takes any more, all or not. */
  readonly open: (ended: AbortSignal) => Promise<AsyncIterable<Uint8Array>>
  constructor(given: Pick<Streamed, 'type' | 'filename'>, open: Streamed['open']) {
    this.type = given.type
    this.filename = given.filename
    this.open = open
  }
}
