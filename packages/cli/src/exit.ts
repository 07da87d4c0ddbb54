import { ApiError, ConnectionError, NotApprovedError, VerificationError } from '@holdfast/sdk'
import { type Command, CommanderError } from 'commander'
import { inTermsOf } from './command-terms.ts'
import { plainLines } from './text.ts'

/**
 * 0: success · 1: refused by the server, or its answer is not trusted · 2: wrong use; for config plan only: there are
 * differences · 3: not found: the server, or the named thing
 */
const exitCodes = { refused: 1, usage: 2, differs: 2, notFound: 3, unreachable: 3 } as const

/** The command line is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** There is no thing with the given name or id. */
export class NotFoundError extends Error {
  override readonly name = 'NotFoundError'
}

/** The command line is correct, but its input can't be used. */
export class Unusable extends Error {
  override readonly name = 'Unusable'
}

/** The command ran with a negative result, which is already printed. */
export class Declined extends Error {
  override readonly name = 'Declined'
}

/** The compared states differ. The differences are already printed. */
export class Differs extends Error {
  override readonly name = 'Differs'
}

/** The sign-in at an identity provider failed. */
export class NotSignedIn extends Error {
  override readonly name = 'NotSignedIn'
}

/** Returns the message on stderr for an error, and the exit code. */
export function explainError(error: unknown, command?: Command): { code: number; lines: string[] } {
  if (error instanceof Declined) return { code: exitCodes.refused, lines: [] }
  if (error instanceof Differs) return { code: exitCodes.differs, lines: [] }
  // Commander has already printed its message.
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
    // For a single field the sentence may already contain all.
    ...error.errors
      .map(({ field, message }) => `${field}: ${message}`)
      .filter((text) => text !== error.detail)
      .flatMap((text) => plainLines(`  ${say(text)}`)),
    ...(error.retryAfterSeconds === undefined ? [] : [`Try again in ${error.retryAfterSeconds} s.`]),
  ]
}
