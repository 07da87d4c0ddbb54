/** Cache of bytes by key, limited in age and total size. The oldest entries are evicted first. */
export function createByteCache<V extends { bytes: Buffer }>({
  maxBytes,
  maxAgeMs,
  nowMs,
}: {
  maxBytes: number
  maxAgeMs: number
  nowMs: () => number
}) {
  const entries = new Map<string, { value: V; at: number }>()
  let heldBytes = 0

  const drop = (key: string) => {
    const entry = entries.get(key)
    if (!entry) return
    entries.delete(key)
    heldBytes -= entry.value.bytes.length
  }
  return {
    get: (key: string): V | undefined => {
      const entry = entries.get(key)
      if (!entry) return undefined
      if (Math.abs(nowMs() - entry.at) < maxAgeMs) return entry.value
      drop(key)
      return undefined
    },
    set: (key: string, value: V): void => {
      drop(key)
      if (value.bytes.length > maxBytes) return
      entries.set(key, { value, at: nowMs() })
      heldBytes += value.bytes.length
      for (const oldest of entries.keys()) {
        if (heldBytes <= maxBytes) break
        drop(oldest)
      }
    },
    clear: (): void => {
      entries.clear()
      heldBytes = 0
    },
    heldBytes: () => heldBytes,
  }
}
