/** Sets of rules: one bit for each rule, 32 in a word. */
export type Bits = Uint32Array

/** A set with few members: only the words that are not zero. */
export type SparseBits = { readonly at: Uint16Array; readonly words: Uint32Array }

export const wordsFor = (size: number): number => (size + 31) >>> 5

export const setBit = (bits: Bits, index: number): void => {
  bits[index >>> 5] = (bits[index >>> 5] ?? 0) | (1 << (index & 31))
}

export const hasBit = (bits: Bits, index: number): boolean => (((bits[index >>> 5] ?? 0) >>> (index & 31)) & 1) === 1

export function addAll(bits: Bits, more: Bits): void {
  for (let i = 0; i < bits.length; i++) bits[i] = (bits[i] ?? 0) | (more[i] ?? 0)
}

export function toSparse(bits: Bits): SparseBits {
  let used = 0
  for (let i = 0; i < bits.length; i++) if (bits[i] !== 0) used++
  const at = new Uint16Array(used)
  const words = new Uint32Array(used)
  for (let i = bits.length - 1; used > 0; i--) {
    if (bits[i] === 0) continue
    at[--used] = i
    words[used] = bits[i] ?? 0
  }
  return { at, words }
}

export function addSparse(bits: Bits, { at, words }: SparseBits): void {
  for (let i = 0; i < at.length; i++) {
    const word = at[i] ?? 0
    bits[word] = (bits[word] ?? 0) | (words[i] ?? 0)
  }
}

export function removeSparse(bits: Bits, { at, words }: SparseBits): void {
  for (let i = 0; i < at.length; i++) {
    const word = at[i] ?? 0
    bits[word] = (bits[word] ?? 0) & ~(words[i] ?? 0)
  }
}

/** Returns the members, ascending. */
export function membersOf(bits: Bits): number[] {
  const members: number[] = []
  for (let i = 0; i < bits.length; i++) {
    let word = bits[i] ?? 0
    while (word !== 0) {
      members.push(i * 32 + (31 - Math.clz32(word & -word)))
      word &= word - 1
    }
  }
  return members
}

/** Hashes a set for a table. Equal sets have equal hashes; different sets may too, so they must still be compared. */
export function hashBits(bits: Bits): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < bits.length; i++) {
    hash = Math.imul(hash ^ (bits[i] ?? 0), 0x01000193)
    hash ^= hash >>> 15
  }
  return hash
}

export function equalBits(a: Bits, b: Bits): boolean {
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}
