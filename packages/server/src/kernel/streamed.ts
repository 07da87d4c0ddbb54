/** Bytes that are made while they are sent; how many, nobody knows. Whoever takes them sets the pace. */
export class Streamed {
  /** One of those that the contract names. */
  readonly type: string
  /** What they are to be called: letters, digits and `._+-`. */
  readonly filename: string
  /**
   * Refuses before the first byte, or begins; `ended` once nobody takes any more, all or not. `stands` says whether
   * whoever asked for it still might: it is long, and a credential may end meanwhile.
   */
  readonly open: (ended: AbortSignal, stands: () => Promise<boolean>) => Promise<AsyncIterable<Uint8Array>>
  constructor(given: Pick<Streamed, 'type' | 'filename'>, open: Streamed['open']) {
    this.type = given.type
    this.filename = given.filename
    this.open = open
  }
}
