/** Wraps a callback that only observes, so that its errors do not end the caller. */
export function safely<T>(callback: ((said: T) => void) | undefined): (said: T) => void {
  return (said) => {
    try {
      callback?.(said)
    } catch {
      // Callbacks must handle their own errors.
    }
  }
}
