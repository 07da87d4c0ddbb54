/**
 * Failure to read a directory. Administrators see the message, so it contains no text of the directory except OAuth
 * error codes. `gone`: the directory no longer has the state from which changes were to be read.
 */
export class PullError extends Error {
  override readonly name = 'PullError'
  readonly code: 'credential' | 'forbidden' | 'unreachable' | 'answer' | 'elsewhere' | 'unstable' | 'too_large' | 'gone'
  constructor(code: PullError['code'], message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}
