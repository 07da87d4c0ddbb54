/** What stands at a place is not what was recorded there, whatever its hash says. */
export class BrokenPlace extends Error {
  override readonly name = 'BrokenPlace'
  readonly seq: number

  constructor(seq: number, message: string) {
    super(message)
    this.seq = seq
  }
}
