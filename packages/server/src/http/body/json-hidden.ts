import { fail } from '../../kernel/app-error.ts'
import type { Sliced } from '../../kernel/time-slice.ts'
import {
  closeBrace,
  closeBracket,
  comma,
  endOfString,
  maxDepth,
  openBrace,
  openBracket,
  quote,
  stepLength,
} from './json-text.ts'

const zero = 0x30
const nine = 0x39
const plus = 0x2b
const minus = 0x2d
const point = 0x2e
const exponent = 0x65

/**
 * Refuses input that parsing hides: duplicate names, the name `__proto__`, integers that lose digits and, unless the
 * handler checks texts (`judgesTexts`), texts with NUL or an unpaired surrogate. Nearly all texts have none of these,
 * and most are cleared by a fast check.
 */
export function* refuseHidden(text: string, value: unknown, names: number, judgesTexts: boolean): Sliced<void> {
  if ((yield* shows(text)) || !(yield* hasMembers(value, names))) yield* inspect(text, judgesTexts)
}

/** True if a text may contain such input: an escape for any character, the name, or too many digits. */
function* shows(text: string): Sliced<boolean> {
  for (let at = 0; at < text.length; at += stepLength) {
    // Overlap for matches that cross the end of a part.
    const part = text.slice(at, at + stepLength + 16)
    if (part.includes('\\u') || part.includes('__proto__') || longNumber.test(part)) return true
    yield
  }
  return false
}
/** The largest exact integer has 16 digits. */
const longNumber = /\d{16}/

/** True if a value has this many members. It has fewer than its text has names if one was duplicated. */
function* hasMembers(value: unknown, names: number): Sliced<boolean> {
  const open: object[] = []
  const look = (member: unknown) => {
    if (typeof member === 'object' && member !== null) open.push(member)
  }
  look(value)
  let found = 0
  let seen = 0
  for (let parent = open.pop(); parent; parent = open.pop()) {
    if (Array.isArray(parent)) parent.forEach(look)
    else {
      const members = Object.values(parent)
      found += members.length
      members.forEach(look)
    }
    if (++seen % partsOfStep === 0) yield
  }
  return found === names
}
const partsOfStep = 256

/** An object or an array around the current position. Each is reused for the next one of the same depth. */
type Level = { isObject: boolean; names: string[]; many: Set<string> | undefined }

/** Walks valid JSON text once and refuses with the exact reason. */
function* inspect(text: string, judgesTexts: boolean): Sliced<void> {
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

/** Most objects have few names, and comparing few is faster than hashing. */
function requireNew(level: Level, name: string): void {
  if (name === '__proto__') fail('bad_request', 'the name __proto__ is not allowed')
  if (level.names.length === 16) level.many ??= new Set(level.names)
  if (level.many?.has(name) ?? level.names.includes(name))
    fail('bad_request', `the name "${name.slice(0, 64)}" is given twice`)
  if (level.many) level.many.add(name)
  else level.names.push(name)
}

/** Refuses escapes that UTF-8 can't represent or the database can't store. */
function refuseUnstorable(raw: string): void {
  const text = JSON.parse(raw) as string
  if (text.includes('\0')) fail('validation_error', 'a string contains the character NUL (\\u0000)')
  if (!text.isWellFormed())
    fail('validation_error', 'a string contains half of a surrogate pair, which is not a Unicode character')
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
