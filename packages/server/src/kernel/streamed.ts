import type { Actor } from './actor.ts'

/** Undefined where the caller would no longer be let in. */
export type Stands = () => Promise<Actor | undefined>

/** Bytes that are made while they are sent; how many, nobody knows. Whoever takes them sets the pace. */
export class Streamed {
  /** One of those that the contract names. */
  readonly type: string
  /** The name of the file: letters, digits and `._+-`. Undefined: the bytes are events and no file. */
  readonly filename: string | undefined
  /**
   * Refuses before the first byte, or begins; `ended` once nobody takes any more, all or not. `stands` says whether
   * whoever asked for it still might, and gives them as they are now: it is long, and a credential may end meanwhile.
   */
  readonly open: (ended: AbortSignal, stands: Stands) => Promise<AsyncIterable<Uint8Array>>
  constructor(given: { type: string; filename?: string }, open: Streamed['open']) {
    this.type = given.type
    this.filename = given.filename
    this.open = open
  }
}
