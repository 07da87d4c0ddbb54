import { ApiError, ConnectionError, NotApprovedError, VerificationError } from '@holdfast/sdk'
import { CommanderError } from 'commander'
import { plain } from './text.ts'

/** 0 done · 1 refused by the server, or what it sent is not to be trusted · 2 wrong use; of config plan alone: it differs · 3 no connection */
const exitCodes = { refused: 1, usage: 2, differs: 2, unreachable: 3 } as const

/** The command can't be done as it was written. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The command is right, and what it works with can not be used. */
export class Unusable extends Error {
  override readonly name = 'Unusable'
}

/** The command ran and its answer is no, which has been printed. */
export class Declined extends Error {
  override readonly name = 'Declined'
}

/** What there is differs from what it was compared with, which has been printed. */
export class Differs extends Error {
  override readonly name = 'Differs'
}

/** Somebody else than the server said no. */
export class NotSignedIn extends Error {
  override readonly name = 'NotSignedIn'
}

/** What to say on stderr about an error, and the exit code that goes with it. */
export function explainError(error: unknown): { code: number; lines: string[] } {
  if (error instanceof Declined) return { code: exitCodes.refused, lines: [] }
  if (error instanceof Differs) return { code: exitCodes.differs, lines: [] }
  // Commander has said what it has to say.
  if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : exitCodes.usage, lines: [] }
  if (error instanceof ConnectionError)
    return { code: exitCodes.unreachable, lines: [`Error: ${plain(error.message)}`] }
  if (error instanceof ApiError) return { code: exitCodes.refused, lines: apiLines(error) }
  if (error instanceof VerificationError)
    return { code: exitCodes.refused, lines: [`Error: not accepted (${error.code}): ${plain(error.message)}`] }
  if (error instanceof NotSignedIn || error instanceof NotApprovedError)
    return { code: exitCodes.refused, lines: [`Error: ${plain(error.message)}`] }
  if (error instanceof Unusable) {
    const [first = '', ...others] = error.message.split('\n').map(plain)
    return { code: exitCodes.refused, lines: [`Error: ${first}`, ...others] }
  }
  const message = error instanceof Error ? error.message : String(error)
  return { code: exitCodes.usage, lines: [`Error: ${plain(message)}`] }
}

function apiLines(error: ApiError): string[] {
  const request = error.requestId === undefined ? '' : ` (request ${plain(error.requestId)})`
  return [
    `Error: ${plain(error.detail)}${request}`,
    // Of a single field the sentence itself may say all there is.
    ...error.errors
      .map(({ field, message }) => `${field}: ${message}`)
      .filter((text) => text !== error.detail)
      .map((text) => `  ${plain(text)}`),
    ...(error.retryAfterSeconds === undefined ? [] : [`Try again in ${error.retryAfterSeconds} s.`]),
  ]
}
