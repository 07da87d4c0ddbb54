/** Runs of letters and digits, and of all that is not ASCII. */
const word = /[0-9A-Za-z\u0080-\uffff]+/g
/** In JSON, what does not stand for itself. */
const escaped = /\\(?:u[0-9a-f]{4}|.)/g

/** The words of a text, each in small letters by itself: what stands beside it changes none (as it would a final Σ). */
export const wordsOf = (text: string): readonly string[] => text.match(word)?.map((w) => w.toLowerCase()) ?? []

/** The words of a record, which is JSON: of the texts, numbers and names in it. */
export const wordsOfRecord = (record: string): readonly string[] =>
  wordsOf(record.includes('\\') ? record.replaceAll(escaped, ' ') : record)

/**
 * Adds the words of one record after the other. Most of a record stands word for word in others, and at the same place
 * in the one before: each part between commas, which no word and no escape crosses, is read once.
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

/** Where an escape begins, and no other one goes on. */
const aligned = '(?<!\\\\)(?:\\\\\\\\)*'
/** What stands before a word: an escape counts as a whole. */
const before = `(?:[\\x01-/:-@\\[\\]-\`{-\\x7f]|${aligned}\\\\(?:[\\\\bfnrt]|u[0-9a-f]{4}))`
const behind = '[\\x01-/:-@\\[-`{-\\x7f]'

/**
 * What finds a term in a record, as a regular expression of PostgreSQL: as it is written, ASCII in either case, and
 * where it begins or ends with a word, that word as a whole.
 */
export function patternOf(term: string): string {
  const written = JSON.stringify(term).slice(1, -1)
  const literal = written.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  const begins = isWord(term[0]) ? before : written.startsWith('\\') ? aligned : ''
  return `${begins}${literal}${isWord(term.at(-1)) ? behind : ''}`
}
const isWord = (character = '') => wordsOf(character).length > 0
