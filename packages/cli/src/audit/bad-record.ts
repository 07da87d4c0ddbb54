/** The record is not what was recorded, or signed: from this place on, as far as can be told. */
export class BadRecord extends Error {
  override readonly name = 'BadRecord'
  readonly seq: number

  constructor(seq: number, message: string) {
    super(message)
    this.seq = seq
  }
}
