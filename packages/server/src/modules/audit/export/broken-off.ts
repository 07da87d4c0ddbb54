/**
 * Reason why an export did not finish, as written to the audit log. `not_taken`: the client disconnected or was too
 * slow.
 */
export type Cause = 'not_taken' | 'stopping' | 'revoked' | 'purged' | 'broken' | 'error'

/** Expected abort of an export. It is written to the audit log and needs no other report. */
export class BrokenOff extends Error {
  override readonly name: string = 'BrokenOff'
  readonly why: Cause

  constructor(why: Cause, message: string) {
    super(message)
    this.why = why
  }
}

/** The row at a sequence number is not the recorded event, even if its hash matches. */
export class BrokenPlace extends BrokenOff {
  override readonly name = 'BrokenPlace'
  readonly seq: number

  constructor(seq: number, message: string) {
    super('broken', message)
    this.seq = seq
  }
}
