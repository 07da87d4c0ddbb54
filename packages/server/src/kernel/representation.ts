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
