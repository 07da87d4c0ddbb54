/** What is looked up in the list of passwords that attackers try first. */
export type Known = { has: (text: string) => boolean; beginsOne: (text: string) => boolean }

/** Padding of digits and signs up to this length is tried with every known word. */
const longestPadding = 11
/** Shorter words stand in too many good passwords. */
const shortestCore = 4
/** The beginning of a known password, cut off, is one from this length on. */
const shortestBeginning = 6

/** Signs that stand for letters, in both readings of those that have two. */
const letterSigns = { '@': 'a', '4': 'a', '3': 'e', '0': 'o', $: 's', '5': 's', '7': 't', '+': 't', '8': 'b', '9': 'g' }
const readings = [
  { ...letterSigns, '1': 'i', '!': 'i', '|': 'i' },
  { ...letterSigns, '1': 'l', '!': 'l', '|': 'l' },
].map((signs) => new Map(Object.entries(signs)))

const unLeet = (text: string): string[] =>
  readings.map((signs) => [...text].map((character) => signs.get(character) ?? character).join(''))

/** The text without what is added in front and behind: all that is no letter, or digits alone, or signs alone. */
const paddings = [
  [/^[^\p{L}]+/u, /[^\p{L}]+$/u],
  [/^[^\p{L}]+/u, /\d+[^\p{L}\d]*$/u],
  [/^\d+/u, /\d+$/u],
  [/^[^\p{L}\d]+/u, /[^\p{L}\d]+$/u],
] as const

/** The words that a text is made of, each with how much is added to it. */
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
 * Whether a guesser that pads, shortens and respells the passwords of its list, or walks over a keyboard, comes to this
 * text soon. The text is folded.
 */
export function isGuessable(text: string, known: Known): boolean {
  if (known.has(text) || known.beginsOne(text) || isWalk(text)) return true
  const joined = text.replace(/[^\p{L}\d]+/gu, '')
  const unit = repeatedUnit(joined)
  if (unit !== undefined && isGuessable(unit, known)) return true
  if (isOneWordAgain(text, known)) return true
  return [...coresOf(text)].some(([core, padding]) => {
    const isWord =
      core.length >= shortestCore &&
      (known.has(core) || (core.length >= shortestBeginning && known.beginsOne(core)) || isWalk(core))
    return isWord && (padding.length <= longestPadding || isWalk(padding) || repeatedUnit(padding) !== undefined)
  })
}

/** Whether its letters are one known word, written several times: `summer2026summer`. */
function isOneWordAgain(text: string, known: Known): boolean {
  const found = text.match(/\p{L}+/gu) ?? []
  const [word, ...others] = new Set(found)
  if (word === undefined || others.length > 0 || found.length < 2 || word.length < shortestCore) return false
  return known.has(word) && text.length - found.length * word.length <= longestPadding
}

const layouts = [
  ['1234567890-=', 'qwertyuiop[]', "asdfghjkl;'", 'zxcvbnm,./'],
  ['1234567890', 'qwertzuiop', 'asdfghjkl', 'yxcvbnm,.-'],
  ['1234567890', 'azertyuiop', 'qsdfghjklm', 'wxcvbn,;:'],
]
const places = layouts.map(
  (rows) => new Map(rows.flatMap((row, y) => [...row].map((key, x) => [key, { x, y }] as const))),
)

/** Whether the text is a few runs of neighbouring keys, of the alphabet or of digits: `qwertyuiop12345`, `1qaz2wsx`. */
function isWalk(text: string): boolean {
  const characters = [...text]
  if (characters.length < 6) return false
  let runs = 1
  let step: number | undefined
  for (let i = 1; i < characters.length; i++) {
    const [from, to] = [characters[i - 1]!, characters[i]!]
    const next = to.codePointAt(0)! - from.codePointAt(0)!
    const continues = /\d/.test(from + to)
      ? Math.abs(next) <= 1 && (step === undefined || step === next)
      : isBeside(from, to)
    const goesOn = continues || areNeighbours(from, to)
    step = continues ? next : undefined
    if (!goesOn) runs++
  }
  return runs <= characters.length / 4
}
/** The same letter, or the one before or after it in the alphabet. */
const isBeside = (from: string, to: string) => Math.abs(to.codePointAt(0)! - from.codePointAt(0)!) <= 1
/** Keys that touch; digits do so along the slanted column that leads to a letter. */
const areNeighbours = (from: string, to: string) =>
  !(/\d/.test(from) && /\d/.test(to)) &&
  places.some((keys) => {
    const [a, b] = [keys.get(from), keys.get(to)]
    return a !== undefined && b !== undefined && Math.abs(a.x - b.x) <= 1 && Math.abs(a.y - b.y) <= 1
  })

/** The shortest text of which this is a whole number of repetitions, at least two. */
export function repeatedUnit(text: string): string | undefined {
  const at = (text + text).indexOf(text, 1)
  return at > 0 && at < text.length ? text.slice(0, at) : undefined
}
