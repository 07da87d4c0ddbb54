/**
 * Why a directory could not be read. The message is a sentence that administrators read; it holds nothing that the
 * other side said but error codes of OAuth. `gone`: what a reading of changes went on from is not there any more.
 */
export class PullError extends Error {
  override readonly name = 'PullError'
  readonly code: 'credential' | 'forbidden' | 'unreachable' | 'answer' | 'elsewhere' | 'unstable' | 'too_large' | 'gone'
  constructor(code: PullError['code'], message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}
