import { fail } from '../kernel/app-error.ts'
import type { Steps } from '../kernel/time-slice.ts'

export const maxDepth = 32
/** Values of a body, or twice its names where those are more: three lists of the 10,000 members of a group. */
const leastValues = 40_000
/** The widest object that any schema takes: the resources of a policy. */
const maxNamesOfOne = 5000
/** Objects and arrays of one body: a policy of 1 MiB has 20 bytes for each, and so has whatever may be larger. */
const leastParts = 50_000
const bytesOfPart = 20
/**
 * Of one text as it is written: the longest that any schema takes has 4,096 characters, each of them six where escaped.
 */
const maxText = 32_768

/**
 * Walks over JSON text stop so often, for who has other work between: a step takes less than a millisecond. Whatever is
 * larger is read piece by piece.
 */
export const stepLength = 65_536
export const quote = 0x22
const backslash = 0x5c
export const openBrace = 0x7b
export const closeBrace = 0x7d
export const openBracket = 0x5b
export const closeBracket = 0x5d
const colon = 0x3a
export const comma = 0x2c
const zero = 0x30
const nine = 0x39
const plus = 0x2b
const minus = 0x2d
const point = 0x2e
const exponent = 0x65

/**
 * Counts depth, names and values before anything is made of them: a wide body costs the parser, the check of names and
 * the schema each many times what counting costs. Where the objects and arrays begin that are longer than a step.
 */
export function* requireFew(text: string, maxNames: number): Steps<ReadonlySet<number>> {
  const namesOf = new Int32Array(maxDepth + 1)
  const startOf = new Int32Array(maxDepth + 1)
  const large = new Set<number>()
  const maxValues = Math.max(leastValues, 2 * maxNames)
  const maxParts = Math.max(leastParts, Math.min(text.length / bytesOfPart, maxNames))
  let depth = 0
  let names = 0
  let values = 0
  let parts = 0
  let pause = stepLength
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === quote) {
      const end = endOfString(text, i)
      if (end - i > maxText) fail('validation_error', `a text is longer than ${maxText} characters`)
      i = end
    } else if (c === openBrace || c === openBracket) {
      if (++depth > maxDepth) fail('bad_request', `the body is nested deeper than ${maxDepth} levels`)
      if (++parts > maxParts) fail('bad_request', `the body has more than ${Math.floor(maxParts)} objects and arrays`)
      namesOf[depth] = 0
      startOf[depth] = i
      values++
    } else if (c === closeBrace || c === closeBracket) {
      if (depth > 0 && i - startOf[depth]! > stepLength) large.add(startOf[depth]!)
      depth--
    } else if (c === comma) values++
    else if (c === colon) {
      if (++names > maxNames) fail('bad_request', `the body has more than ${maxNames} names`)
      if (++namesOf[depth]! > maxNamesOfOne) fail('bad_request', `an object has more than ${maxNamesOfOne} names`)
    }
    if (values > maxValues) fail('bad_request', `the body has more than ${maxValues} values`)
    if (i >= pause) {
      pause = i + stepLength
      yield
    }
  }
  return large
}

export function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end < 0 ? text.length : end
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (text.charCodeAt(before) === backslash) before--
  return (at - before) % 2 === 0
}

/** An object or an array around the place that is looked at; each is used again for the next one as deep. */
type Level = { isObject: boolean; names: string[]; many: Set<string> | undefined }

/** Walks valid JSON text once for what parsing hides: repeated names, numbers that lose digits, NUL unless told. */
export function* inspect(text: string, judgesTexts: boolean): Steps<void> {
  const levels = Array.from({ length: maxDepth }, (): Level => ({ isObject: false, names: [], many: undefined }))
  let depth = 0
  const enter = (isObject: boolean) => {
    const level = levels[depth++]!
    level.isObject = isObject
    level.names.length = 0
    level.many = undefined
    return isObject
  }
  let expectName = false
  let pause = stepLength
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === quote) {
      const end = endOfString(text, i)
      const raw = text.slice(i, end + 1)
      if (!judgesTexts && raw.includes('\\u')) refuseUnstorable(raw)
      if (expectName)
        requireNew(levels[depth - 1]!, raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1))
      expectName = false
      i = end
    } else if (c === openBrace) expectName = enter(true)
    else if (c === openBracket) enter(false)
    else if (c === closeBrace || c === closeBracket) {
      depth--
      expectName = false
    } else if (c === comma) expectName = levels[depth - 1]!.isObject
    else if (c === minus || (c >= zero && c <= nine)) i = endOfNumber(text, i)
    if (i >= pause) {
      pause = i + stepLength
      yield
    }
  }
}

/** Most objects have few names, which are sooner compared than hashed. */
function requireNew(level: Level, name: string): void {
  if (name === '__proto__') fail('bad_request', 'the name __proto__ is not allowed')
  if (level.names.length === 16) level.many ??= new Set(level.names)
  if (level.many?.has(name) ?? level.names.includes(name))
    fail('bad_request', `the name "${name.slice(0, 64)}" is given twice`)
  if (level.many) level.many.add(name)
  else level.names.push(name)
}

/** What escapes can write and UTF-8 can't hold, or the database can't store. */
function refuseUnstorable(raw: string): void {
  const text = JSON.parse(raw) as string
  if (text.includes('\0')) fail('validation_error', 'a text contains the character NUL (\\u0000)')
  if (!text.isWellFormed())
    fail('validation_error', 'a text contains half of a surrogate pair, which is no Unicode character')
}

function endOfNumber(text: string, start: number): number {
  let isInteger = true
  let i = start + 1
  for (; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c >= zero && c <= nine) continue
    if (c !== point && c !== plus && c !== minus && (c | 0x20) !== exponent) break
    isInteger = false
  }
  if (isInteger && i - start > 15) {
    const digits = text.slice(start, i)
    if (!Number.isSafeInteger(Number(digits)))
      fail('validation_error', `the number ${digits.slice(0, 32)} is outside the range of exact integers`)
  }
  return i - 1
}
