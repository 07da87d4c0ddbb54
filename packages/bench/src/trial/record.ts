import { ApiError, ConnectionError } from '@holdfast/sdk'

/** `unknown`: no answer, or one that says the server was in trouble; then both are right. */
export type Outcome = 'acknowledged' | 'refused' | 'unknown'
/** Something that is made once and must then be there. */
export type Made = { kind: 'user' | 'device' | 'publication'; marker: string; outcome: Outcome }
/** A move of something that has a state; one after the other for each subject. */
type Move = { want: string; outcome: Outcome; changed: boolean }
export type Subject = { kind: 'user' | 'device'; id: string; moves: Move[] }

/** What was asked, and what was answered. */
export function createRecord() {
  const made: Made[] = []
  const subjects = new Map<string, Subject>()
  let numbers = 0
  return {
    made,
    /** For a name that nothing else in this trial has. */
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
    // That the first request with this key runs, or was carried out, says nothing of this one.
    const isOfAnother = error.detail.startsWith('Idempotency-Key: the first request')
    return error.status >= 500 || error.status === 409 || isOfAnother ? 'unknown' : 'refused'
  }
  if (error instanceof Error && /Abort|Timeout/.test(error.name)) return 'unknown'
  throw error
}

/** The states that a subject may be in after its moves. */
export function statesAfter(initial: string, moves: readonly Move[]): Set<string> {
  let states = new Set([initial])
  for (const { want, outcome } of moves) {
    if (outcome === 'acknowledged') states = new Set([want])
    if (outcome === 'unknown') states.add(want)
  }
  return states
}
