/** A callback that only watches: what it throws must not end what calls it. */
export function safely<T>(callback: ((said: T) => void) | undefined): (said: T) => void {
  return (said) => {
    try {
      callback?.(said)
    } catch {
      // Whoever watches has to see to itself.
    }
  }
}
