type Kind = 'localStorage' | 'sessionStorage'

/** Returns a text of the browser's storage. Null if there is none, or if the browser refuses access. */
export function readStored(kind: Kind, key: string): string | null {
  try {
    return window[kind].getItem(key)
  } catch {
    return null
  }
}

/** Stores a text, or removes it (null). Does nothing if the storage is full or the browser refuses access. */
export function writeStored(kind: Kind, key: string, text: string | null): void {
  try {
    if (text === null) window[kind].removeItem(key)
    else window[kind].setItem(key, text)
  } catch {
    // The page works without the stored value.
  }
}
