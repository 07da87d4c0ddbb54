/** Lookup in the list of passwords that attackers try first. */
export type KnownPasswords = { has: (text: string) => boolean; beginsOne: (text: string) => boolean }

/** Maximum padding of digits and signs that is tried with every known word. */
const longestPadding = 11
/** Minimum length of a word; shorter ones are part of too many good passwords. */
const shortestCore = 4
/** Minimum length of the truncated beginning of a known password. */
const shortestBeginning = 6
/** Minimum length of a keyboard walk inside the text; shorter ones occur in random text. */
const shortestWalk = 8

/** Signs that stand for letters, in both readings of those with two. */
const letterSigns = { '@': 'a', '4': 'a', '3': 'e', '0': 'o', $: 's', '5': 's', '7': 't', '+': 't', '8': 'b', '9': 'g' }
const readings = [
  { ...letterSigns, '1': 'i', '!': 'i', '|': 'i' },
  { ...letterSigns, '1': 'l', '!': 'l', '|': 'l' },
].map((signs) => new Map(Object.entries(signs)))

const unLeet = (text: string): string[] =>
  readings.map((signs) => [...text].map((character) => signs.get(character) ?? character).join(''))

/** Padding before and after the core of a text: everything but letters, digits alone, or signs alone. */
const paddings = [
  [/^[^\p{L}]+/u, /[^\p{L}]+$/u],
  [/^[^\p{L}]+/u, /\d+[^\p{L}\d]*$/u],
  [/^\d+/u, /\d+$/u],
  [/^[^\p{L}\d]+/u, /[^\p{L}\d]+$/u],
] as const

/** Returns the possible cores of a text, each with its padding. */
function coresOf(text: string): Map<string, string> {
  const cores = paddings.flatMap(([front, back]) => {
    const cut = text.replace(front, '').replace(back, '')
    const at = text.indexOf(cut)
    const padding = text.slice(0, at) + text.slice(at + cut.length)
    return [cut, ...unLeet(cut)].map((core) => [repeatedUnit(core) ?? core, padding] as const)
  })
  return new Map(cores)
}

/**
 * True if an attacker who pads, truncates and respells known passwords, or walks over a keyboard, finds this text soon.
 * The text is folded.
 */
export function isGuessable(text: string, known: KnownPasswords): boolean {
  if (known.has(text) || known.beginsOne(text) || isWalk(text)) return true
  const joined = text.replace(/[^\p{L}\d]+/gu, '')
  const unit = repeatedUnit(joined)
  if (unit !== undefined && isGuessable(unit, known)) return true
  if (isOneWordAgain(text, known)) return true
  return [...coresOf(text)].some(([core, padding]) => {
    const isWord =
      core.length >= shortestCore &&
      (known.has(core) ||
        (core.length >= shortestBeginning && known.beginsOne(core)) ||
        (core === text ? isWalk(core) : isWalkInside(core)))
    return isWord && (padding.length <= longestPadding || isWalk(padding) || repeatedUnit(padding) !== undefined)
  })
}

/** True if its letters are one known word, written several times: `summer2026summer`. */
function isOneWordAgain(text: string, known: KnownPasswords): boolean {
  const found = text.match(/\p{L}+/gu) ?? []
  const [firstWord, ...others] = new Set(found)
  if (firstWord === undefined || others.length > 0 || found.length < 2 || firstWord.length < shortestCore) return false
  return known.has(firstWord) && text.length - found.length * firstWord.length <= longestPadding
}

const layouts = [
  ['1234567890-=', 'qwertyuiop[]', "asdfghjkl;'", 'zxcvbnm,./'],
  ['1234567890', 'qwertzuiop', 'asdfghjkl', 'yxcvbnm,.-'],
  ['1234567890', 'azertyuiop', 'qsdfghjklm', 'wxcvbn,;:'],
]
const places = layouts.map(
  (rows) => new Map(rows.flatMap((row, y) => [...row].map((key, x) => [key, { x, y }] as const))),
)

/** True if the text consists of a few runs of neighbouring keys, letters or digits: `qwertyuiop12345`, `1qaz2wsx`. */
function isWalk(text: string): boolean {
  const characters = [...text]
  return characters.length >= 6 && runsOf(characters, stepsBetween) <= characters.length / 4
}
/**
 * Like `isWalk`, for a part of a text. Random text has crooked runs of a few characters, so the runs must be longer, or
 * straight.
 */
function isWalkInside(part: string): boolean {
  const characters = [...part]
  const { length } = characters
  if (length < shortestWalk) return false
  return runsOf(characters, stepsBetween) <= length / 8 || runsOf(characters, straightSteps) <= length / 4
}

type Steps = (from: string, to: string) => readonly string[]
/** Counts the runs; all steps of a run share a name. */
function runsOf(characters: readonly string[], steps: Steps): number {
  let runs = 1
  let common: readonly string[] | undefined
  for (let i = 1; i < characters.length; i++) {
    const names = steps(characters[i - 1]!, characters[i]!)
    const shared: readonly string[] = common === undefined ? names : names.filter((name) => common?.includes(name))
    if (shared.length === 0) runs++
    common = shared.length === 0 ? undefined : shared
  }
  return runs
}

/** Names of a step: along the digits with its direction, along the alphabet, or to a neighbouring key, by layout. */
const stepsBetween: Steps = (from, to) => namesOf(from, to, false)
/** Names that include the direction of every step. */
const straightSteps: Steps = (from, to) => namesOf(from, to, true)

function namesOf(from: string, to: string, isStraight: boolean): string[] {
  const next = to.codePointAt(0)! - from.codePointAt(0)!
  const [hasDigit, areDigits] = [/\d/.test(from + to), /^\d\d$/.test(from + to)]
  const names: string[] = []
  if (Math.abs(next) <= 1) names.push(hasDigit || isStraight ? `order ${next}` : 'order')
  // Digit keys count as neighbours only of letter keys, along the slanted column.
  if (areDigits) return names
  for (const [layout, keys] of places.entries()) {
    const [a, b] = [keys.get(from), keys.get(to)]
    if (!a || !b) continue
    const [x, y] = [b.x - a.x, b.y - a.y]
    if (Math.abs(x) <= 1 && Math.abs(y) <= 1) names.push(isStraight ? `keys ${layout} ${x} ${y}` : `keys ${layout}`)
  }
  return names
}

/** Returns the shortest text that repeated gives this one, at least twice. */
export function repeatedUnit(text: string): string | undefined {
  const at = (text + text).indexOf(text, 1)
  return at > 0 && at < text.length ? text.slice(0, at) : undefined
}
