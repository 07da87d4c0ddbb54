/** Most names that an error lists. */
const maxListed = 8
/**
 * Most cells of distance tables that the look-ups of one document compute: some tenths of a second. A document may
 * define 10,000 names, and 50 errors are shown.
 */
const maxCells = 10_000_000
/** A longer text is no misspelt name: the longest name of the language has 64 characters. */
const maxLength = 80

/** Most single corrections that still count as a misspelling: one for a short name, three for a long one. */
const toleranceOf = (text: string): number => (text.length <= 3 ? 1 : text.length <= 6 ? 2 : 3)

/**
 * Returns the number of characters to insert, remove, replace or swap with their neighbour to turn `a` into `b`
 * (optimal string alignment). Returns `limit + 1` if there are more than `limit`, which is at most 254.
 * `b` has at most 250 characters.
 */
export function editDistance(a: string, b: string, limit: number): number {
  const [left, right] = withoutCommonEnds(a, b)
  return Math.abs(a.length - b.length) > limit ? limit + 1 : distanceInBand(left, right, limit)
}

function withoutCommonEnds(a: string, b: string): [string, string] {
  const shorter = Math.min(a.length, b.length)
  let start = 0
  while (start < shorter && a[start] === b[start]) start++
  let end = 0
  while (end < shorter - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  return [a.slice(start, a.length - end), b.slice(start, b.length - end)]
}

/** Rows of a distance table, reused by every call: texts of a search are short, and a search has many of them. */
const rows: [Uint8Array, Uint8Array, Uint8Array] = [new Uint8Array(256), new Uint8Array(256), new Uint8Array(256)]

function distanceInBand(a: string, b: string, limit: number): number {
  const over = limit + 1
  let [beforeLast, last, row] = rows
  last.fill(over, 0, b.length + 1)
  for (let j = 0; j <= Math.min(b.length, limit); j++) last[j] = j
  for (let i = 1; i <= a.length; i++) {
    // Cells further from the diagonal than the limit are more than the limit.
    const from = Math.max(1, i - limit)
    const to = Math.min(b.length, i + limit)
    row[from - 1] = from === 1 ? Math.min(i, over) : over
    row[to + 1] = over
    let least = row[from - 1] ?? over
    for (let j = from; j <= to; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let cell = Math.min((last[j] ?? over) + 1, (row[j - 1] ?? over) + 1, (last[j - 1] ?? over) + cost, over)
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (isSwapped) cell = Math.min(cell, (beforeLast[j - 2] ?? over) + 1)
      row[j] = cell
      least = Math.min(least, cell)
    }
    if (least > limit) return over
    ;[beforeLast, last, row] = [last, row, beforeLast]
  }
  return last[b.length] ?? over
}

/** Finds the names that are nearest to a misspelt one, nearest first. Names with the same distance keep their order. */
export type Suggest = (text: string) => string[]

/**
 * Returns a search in `names`, which are read at the first search. The cost of all searches is bounded (`maxCells`).
 */
export function createSuggest(names: () => Iterable<string>): Suggest {
  const known = new Map<string, string[]>()
  let all: { name: string; lower: string }[] | undefined
  let cells = 0

  const search = (text: string): string[] => {
    all ??= Array.from(names(), (name) => ({ name, lower: name.toLowerCase() }))
    const tolerance = toleranceOf(text)
    const found: { name: string; distance: number }[] = []
    for (const { name, lower } of all) {
      if (Math.abs(lower.length - text.length) > tolerance) continue
      const [left, right] = withoutCommonEnds(text, lower)
      cells += left.length * (2 * tolerance + 1) + 1
      if (cells > maxCells) break
      const distance = distanceInBand(left, right, tolerance)
      if (distance <= tolerance && distance < text.length) found.push({ name, distance })
    }
    return found.sort((a, b) => a.distance - b.distance).map(({ name }) => name)
  }
  return (text) => {
    if (text.length > maxLength) return []
    const found = known.get(text) ?? search(text.toLowerCase())
    known.set(text, found)
    return found
  }
}

const quoted = (names: readonly string[]): string => names.map((name) => JSON.stringify(name)).join(' or ')

/** Returns ` Did you mean "git"?`, or nothing if no name is near. At most three names. */
export const didYouMean = (names: readonly string[]): string =>
  names.length === 0 ? '' : ` Did you mean ${quoted(names.slice(0, 3))}?`

/** True if a text is a short form of a field, or the reverse: `expr` and `expression`, `mfa` and `mfa_age_seconds`. */
function sharesBeginning(text: string, field: string): boolean {
  const shorter = Math.min(text.length, field.length)
  let shared = 0
  while (shared < shorter && text[shared] === field[shared]) shared++
  return shared >= 3 && shared >= shorter * 0.75
}

/** Returns a sentence with the fields that fit at a place: the near ones as a question, then a list, nearest first. */
export function fieldsThatFit(text: string, fields: readonly string[]): string {
  const written = text.slice(0, maxLength).toLowerCase()
  const sorted = fields
    .map((field) => ({ field, distance: editDistance(written, field, maxLength) }))
    .sort((a, b) => a.distance - b.distance)
    .map(({ field }) => field)
  const misspelt = createSuggest(() => fields)(text)
  const begun = sorted.filter((field) => !misspelt.includes(field) && sharesBeginning(written, field))
  const near = [...misspelt, ...begun]
  sorted.sort((a, b) => Number(near.includes(b)) - Number(near.includes(a)))
  const more = sorted.length - maxListed
  const list = sorted.slice(0, maxListed).join(', ')
  return `${didYouMean(near)} Fields here: ${list}${more > 0 ? ` and ${more} more` : ''}`
}
