import { ApiError, ConnectionError, NotApprovedError, VerificationError } from '@holdfast/sdk'
import { type Command, CommanderError } from 'commander'
import { inTermsOf } from './command-terms.ts'
import { plainLines } from './text.ts'

/**
 * 0 done · 1 refused by the server, or its answer is not to be trusted · 2 wrong use; of config plan alone: it
 * differs · 3 not found: the server, or the thing named
 */
const exitCodes = { refused: 1, usage: 2, differs: 2, notFound: 3, unreachable: 3 } as const

/** The command can't be done as it was written. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Nothing has the name or id that was given. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError'
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

/** What to say on stderr about an error of a command, and the exit code that goes with it. */
export function explainError(error: unknown, command?: Command): { code: number; lines: string[] } {
  if (error instanceof Declined) return { code: exitCodes.refused, lines: [] }
  if (error instanceof Differs) return { code: exitCodes.differs, lines: [] }
  // Commander has said what it has to say.
  if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : exitCodes.usage, lines: [] }
  if (error instanceof ConnectionError) return { code: exitCodes.unreachable, lines: errorLines(error.message) }
  if (error instanceof NotFoundError) return { code: exitCodes.notFound, lines: errorLines(error.message) }
  if (error instanceof ApiError)
    return {
      code: error.code === 'not_found' ? exitCodes.notFound : exitCodes.refused,
      lines: apiLines(error, (text) => inTermsOf(command, text)),
    }
  if (error instanceof VerificationError)
    return { code: exitCodes.refused, lines: errorLines(`not accepted (${error.code}): ${error.message}`) }
  if (error instanceof NotSignedIn || error instanceof NotApprovedError)
    return { code: exitCodes.refused, lines: errorLines(error.message) }
  if (error instanceof Unusable) return { code: exitCodes.refused, lines: errorLines(error.message) }
  return { code: exitCodes.usage, lines: errorLines(error instanceof Error ? error.message : String(error)) }
}

const errorLines = (message: string): string[] => plainLines(`Error: ${message}`)

function apiLines(error: ApiError, say: (text: string) => string): string[] {
  const request = error.requestId === undefined ? '' : ` (request ${error.requestId})`
  return [
    ...errorLines(`${say(error.detail)}${request}`),
    // Of a single field the sentence itself may say all there is.
    ...error.errors
      .map(({ field, message }) => `${field}: ${message}`)
      .filter((text) => text !== error.detail)
      .flatMap((text) => plainLines(`  ${say(text)}`)),
    ...(error.retryAfterSeconds === undefined ? [] : [`Try again in ${error.retryAfterSeconds} s.`]),
  ]
}
