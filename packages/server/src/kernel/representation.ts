const fewBytes = 4096

/**
 * What a read gives out under a tag that names its content: bytes made once and sent as they are, or a value that the
 * pipe serialises. Whether anything is sent at all (304) is decided by the pipe alone. Without a tag it is always sent.
 */
export class Representation<T> {
  #text: string | undefined
  /** The tag as it stands in ETag; strong, in quotes. */
  readonly etag: string | undefined
  readonly content: T | Buffer
  constructor(tag: string | undefined, content: T | Buffer) {
    this.etag = tag === undefined ? undefined : `"${tag}"`
    this.content = content
  }
  /** Few bytes as a text of the same bytes (latin1): Node writes that in one piece with the head, bytes as a second. */
  get text(): string | undefined {
    const { content } = this
    if (Buffer.isBuffer(content) && content.length <= fewBytes) this.#text ??= content.toString('latin1')
    return this.#text
  }
}
