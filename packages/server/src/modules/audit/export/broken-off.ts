/** Why an export did not come to its end, as its record says it. `not_taken`: whoever took it went away, or was slow. */
export type Cause = 'not_taken' | 'stopping' | 'revoked' | 'purged' | 'broken' | 'error'

/** What an export may expect to break off for: its record says it, and nothing else needs to. */
export class BrokenOff extends Error {
  override readonly name: string = 'BrokenOff'
  readonly why: Cause

  constructor(why: Cause, message: string) {
    super(message)
    this.why = why
  }
}
