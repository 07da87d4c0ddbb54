/** Mismatches between actual and expected state, and unexpected errors. All are counted; the first are shown. */
export type Complaints = {
  mismatch: (text: string) => void
  error: (text: string) => void
  readonly mismatches: number
  readonly errors: number
  /** The first 10 mismatches, and the first errors. */
  readonly shown: { mismatches: string[]; errors: string[] }
  /** The same, as lines to print. */
  readonly lines: string[]
}

const mostShown = 10

export function createComplaints(): Complaints {
  const mismatches: string[] = []
  const errors = new Map<string, number>()
  let mismatchCount = 0
  let errorCount = 0
  return {
    mismatch: (text) => {
      mismatchCount++
      if (mismatches.length < mostShown) mismatches.push(text)
    },
    error: (text) => {
      errorCount++
      if (errors.has(text) || errors.size < mostShown) errors.set(text, (errors.get(text) ?? 0) + 1)
    },
    get mismatches() {
      return mismatchCount
    },
    get errors() {
      return errorCount
    },
    get shown() {
      return { mismatches, errors: [...errors].map(([text, count]) => `${count} × ${text}`) }
    },
    get lines() {
      const { mismatches: differences, errors: failed } = this.shown
      return [...differences.map((text) => `  mismatch  ${text}`), ...failed.map((text) => `  error     ${text}`)]
    },
  }
}
