/**
 * Versions as operating systems and clients write them: `14.2`, `v1.4.0-beta.2`, `6.1.0-18-amd64`, `10.0.19045.3803`.
 * Versions are compared number by number; a missing number is 0. A suffix that names a pre-release sorts before the
 * release. Any other suffix (build, architecture) is ignored.
 */
export type Version = { readonly numbers: readonly string[]; readonly prerelease: string | null }

const prereleases = ['alpha', 'beta', 'canary', 'dev', 'nightly', 'pre', 'preview', 'rc']

const isDigit = (c: string | undefined): boolean => c !== undefined && c >= '0' && c <= '9'

/** Null if the text is not a version. */
export function parseVersion(text: string): Version | null {
  if (text.length > 128) return null
  let at = text[0] === 'v' || text[0] === 'V' ? 1 : 0
  const numbers: string[] = []
  for (;;) {
    const start = at
    while (isDigit(text[at])) at++
    if (at === start) return null
    numbers.push(withoutZeros(text.slice(start, at)))
    if ((text[at] === '.' || text[at] === '-') && isDigit(text[at + 1])) at++
    else break
  }
  if (at < text.length && !'-+~ ('.includes(text.charAt(at))) return null
  const suffix = text.slice(at + 1).toLowerCase()
  const marked = text[at] === '-' || text[at] === '~'
  return { numbers, prerelease: marked && prereleases.some((word) => startsWithWord(suffix, word)) ? suffix : null }
}

const startsWithWord = (text: string, word: string): boolean => {
  const next = text.charAt(word.length)
  return text.startsWith(word) && !(next >= 'a' && next <= 'z')
}

function withoutZeros(digits: string): string {
  let at = 0
  while (at < digits.length - 1 && digits[at] === '0') at++
  return digits.slice(at)
}

/** Numbers stay text, so that any length is compared exactly. */
const compareNumbers = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0)

/** Negative, zero or positive, as for a sort. */
export function compareVersions(a: Version, b: Version): number {
  for (let i = 0; i < Math.max(a.numbers.length, b.numbers.length); i++) {
    const order = compareNumbers(a.numbers[i] ?? '0', b.numbers[i] ?? '0')
    if (order) return order
  }
  if (a.prerelease === null || b.prerelease === null)
    return Number(b.prerelease !== null) - Number(a.prerelease !== null)
  return comparePrereleases(a.prerelease, b.prerelease)
}

function comparePrereleases(a: string, b: string): number {
  const left = a.split('.')
  const right = b.split('.')
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    const [x, y] = [left[i], right[i]]
    if (x === undefined || y === undefined) return x === undefined ? -1 : 1
    const order = compareIdentifiers(x, y)
    if (order) return order
  }
  return 0
}

const isNumber = (text: string): boolean => text !== '' && [...text].every(isDigit)

/** As in Semantic Versioning 2.0.0, 11.4: numbers among themselves, texts among themselves, numbers first. */
function compareIdentifiers(a: string, b: string): number {
  if (isNumber(a) !== isNumber(b)) return isNumber(a) ? -1 : 1
  return isNumber(a) ? compareNumbers(withoutZeros(a), withoutZeros(b)) : a < b ? -1 : a > b ? 1 : 0
}
