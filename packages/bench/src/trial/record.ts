import { ApiError, ConnectionError } from '@holdfast/sdk'

/**
 * `unknown`: no answer, or one that reports trouble in the server. The request may or may not have been carried out.
 */
export type Outcome = 'acknowledged' | 'refused' | 'unknown'
/** An object that is created once and must exist afterwards. */
export type Made = { kind: 'user' | 'device' | 'publication'; marker: string; outcome: Outcome }
/** A state change. Each subject has at most one under way at a time. */
type Move = { want: string; outcome: Outcome; changed: boolean }
export type Subject = { kind: 'user' | 'device'; id: string; moves: Move[] }

/** A record of the requests and their outcomes. */
export function createRecord() {
  const made: Made[] = []
  const subjects = new Map<string, Subject>()
  let numbers = 0
  return {
    made,
    /** A number that no other name in this trial has. */
    next: (): number => ++numbers,
    subjects,
    subject: (kind: Subject['kind'], id: string): Subject => {
      const known = subjects.get(id)
      if (known) return known
      const subject: Subject = { kind, id, moves: [] }
      subjects.set(id, subject)
      return subject
    },
    count: (outcome: Outcome): number =>
      made.filter((m) => m.outcome === outcome).length +
      [...subjects.values()].flatMap(({ moves }) => moves).filter((m) => m.outcome === outcome).length,
  }
}
export type Record = ReturnType<typeof createRecord>

export function outcomeOf(error: unknown): Outcome {
  if (error instanceof ConnectionError) return 'unknown'
  if (error instanceof ApiError) {
    // An error about the first request with this key says nothing about this one.
    const isOfAnother = error.detail.startsWith('Idempotency-Key: the first request')
    return error.status >= 500 || error.status === 409 || isOfAnother ? 'unknown' : 'refused'
  }
  if (error instanceof Error && /Abort|Timeout/.test(error.name)) return 'unknown'
  throw error
}

/** The possible states of a subject after its moves. */
export function statesAfter(initial: string, moves: readonly Move[]): Set<string> {
  let states = new Set([initial])
  for (const { want, outcome } of moves) {
    if (outcome === 'acknowledged') states = new Set([want])
    if (outcome === 'unknown') states.add(want)
  }
  return states
}
