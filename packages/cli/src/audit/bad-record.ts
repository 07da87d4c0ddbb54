/** The audit log differs from the recorded or signed one. `seq` is the first possible position. */
export class BadRecord extends Error {
  override readonly name = 'BadRecord'
  readonly seq: number
  /** The last possible position, if known. */
  readonly latest: number

  constructor(seq: number, message: string, latest = seq) {
    super(message)
    this.seq = seq
    this.latest = latest
  }
}

/** Returns the error with the lowest position. */
export const firstOf = (bads: readonly BadRecord[]): BadRecord | undefined =>
  bads.reduce<BadRecord | undefined>((first, bad) => (first && first.seq <= bad.seq ? first : bad), undefined)

/** The audit log could not be verified, with no result either way. */
export class NoVerdict extends Error {
  override readonly name = 'NoVerdict'
}
