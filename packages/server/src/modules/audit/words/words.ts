/** Runs of letters, digits and non-ASCII characters. */
const word = /[0-9A-Za-z\u0080-\uffff]+/g
/** Escape sequences in JSON. */
const escaped = /\\(?:u[0-9a-f]{4}|.)/g

/**
 * Returns the words of a text, each lower-cased alone, so that neighbouring characters change nothing (as for a final
 * Σ).
 */
export const wordsOf = (text: string): readonly string[] => text.match(word)?.map((w) => w.toLowerCase()) ?? []

/** Returns the words of an audit event in JSON: of its texts, numbers and names. */
export const wordsOfRecord = (record: string): readonly string[] =>
  wordsOf(record.includes('\\') ? record.replaceAll(escaped, ' ') : record)

/**
 * Adds the words of one event after the other. Most of an event repeats in others, often at the same position in the
 * previous one. So the parts between commas, which no word or escape crosses, are each read once.
 */
export function wordsOnce(words: Set<string>): (record: string) => void {
  const known = new Set<string>()
  let before: readonly string[] = []
  return (record) => {
    const parts = record.split(',')
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i]!
      if (part === before[i] || known.has(part)) continue
      known.add(part)
      for (const word of wordsOfRecord(part)) words.add(word)
    }
    before = parts
  }
}

/** Position at the start of an escape, not inside another one. */
const aligned = '(?<!\\\\)(?:\\\\\\\\)*'
/** A character before a word. An escape counts as a whole. */
const before = `(?:[\\x01-/:-@\\[\\]-\`{-\\x7f]|${aligned}\\\\(?:[\\\\bfnrt]|u[0-9a-f]{4}))`
const behind = '[\\x01-/:-@\\[-`{-\\x7f]'

/**
 * Returns a PostgreSQL regular expression that finds a term in an audit event: literally, ASCII in either case. A word
 * at the term's start or end matches only as a whole word.
 */
export function patternOf(term: string): string {
  const written = JSON.stringify(term).slice(1, -1)
  const literal = written.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  const begins = isWord(term[0]) ? before : written.startsWith('\\') ? aligned : ''
  return `${begins}${literal}${isWord(term.at(-1)) ? behind : ''}`
}
const isWord = (character = '') => wordsOf(character).length > 0
