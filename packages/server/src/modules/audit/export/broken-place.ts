import { BrokenOff } from './broken-off.ts'

/** What stands at a place is not what was recorded there, whatever its hash says. */
export class BrokenPlace extends BrokenOff {
  override readonly name = 'BrokenPlace'
  readonly seq: number

  constructor(seq: number, message: string) {
    super('broken', message)
    this.seq = seq
  }
}
