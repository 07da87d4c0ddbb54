import { BrokenOff } from './broken-off.ts'

/** The row at a sequence number is not the recorded event, even if its hash matches. */
export class BrokenPlace extends BrokenOff {
  override readonly name = 'BrokenPlace'
  readonly seq: number

  constructor(seq: number, message: string) {
    super('broken', message)
    this.seq = seq
  }
}
