/** The record is not what was recorded, or signed: from this place on, as far as can be told. */
export class BadRecord extends Error {
  override readonly name = 'BadRecord'
  readonly seq: number
  /** It is this place at the latest, where that is known. */
  readonly latest: number

  constructor(seq: number, message: string, latest = seq) {
    super(message)
    this.seq = seq
    this.latest = latest
  }
}

/** That of the first place. */
export const firstOf = (bads: readonly BadRecord[]): BadRecord | undefined =>
  bads.reduce<BadRecord | undefined>((first, bad) => (first && first.seq <= bad.seq ? first : bad), undefined)

/** It can not be told whether the record is what was recorded. */
export class NoVerdict extends Error {
  override readonly name = 'NoVerdict'
}
