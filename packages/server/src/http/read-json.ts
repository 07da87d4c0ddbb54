import { fail } from '../kernel/app-error.ts'

export const maxDepth = 32
/** Names in all objects of a body together, where an endpoint does not say more. */
export const defaultNames = 10_000
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads a body as RFC 8259 JSON, strictly: valid UTF-8 without a byte order mark, at most 32 levels deep, few names, no
 * duplicate and no `__proto__` names. Node's parser is lenient in each of these. 400 says which; a NUL or half a
 * surrogate pair, which the database can't store, and an integer that would lose digits are 422.
 */
export function readJson(bytes: Buffer, maxNames = defaultNames): unknown {
  const text = decode(bytes)
  const value = parse(text, maxNames)
  inspect(text)
  return value
}

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes)
  } catch {
    return fail('bad_request', 'the body is not valid UTF-8')
  }
}

function parse(text: string, maxNames: number): unknown {
  // Depth and names are counted first: the parser copes with any, what comes after it does not.
  let depth = 0
  let names = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === quote) i = endOfString(text, i)
    else if (c === openBrace || c === openBracket) {
      if (++depth > maxDepth) fail('bad_request', `the body is nested deeper than ${maxDepth} levels`)
    } else if (c === closeBrace || c === closeBracket) depth--
    else if (c === colon && ++names > maxNames) fail('bad_request', `the body has more than ${maxNames} names`)
  }
  try {
    return JSON.parse(text)
  } catch {
    return fail('bad_request', 'the body is not valid JSON')
  }
}

const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
const colon = 0x3a
const comma = 0x2c

function endOfString(text: string, start: number): number {
  let i = start + 1
  for (; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === backslash) i++
    else if (c === quote) break
  }
  return i
}

/** Walks valid JSON text once for what parsing hides: repeated names, NUL, numbers that lose digits. */
function inspect(text: string): void {
  const names: (Set<string> | null)[] = []
  let expectName = false
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === quote) {
      const end = endOfString(text, i)
      const raw = text.slice(i, end + 1)
      if (raw.includes('\\u')) refuseUnstorable(raw)
      if (expectName) {
        const name = raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1)
        if (name === '__proto__') fail('bad_request', 'the name __proto__ is not allowed')
        const seen = names.at(-1)
        if (seen?.has(name)) fail('bad_request', `the name "${name.slice(0, 64)}" is given twice`)
        seen?.add(name)
        expectName = false
      }
      i = end
    } else if (c === openBrace) {
      names.push(new Set())
      expectName = true
    } else if (c === openBracket) names.push(null)
    else if (c === closeBrace || c === closeBracket) {
      names.pop()
      expectName = false
    } else if (c === comma) expectName = names.at(-1) != null
    else if (c === colon) expectName = false
    else if (c === 0x2d || (c >= 0x30 && c <= 0x39)) i = endOfNumber(text, i)
  }
}

/** What escapes can write and UTF-8 can't hold, or the database can't store. */
function refuseUnstorable(raw: string): void {
  const text = JSON.parse(raw) as string
  if (text.includes('\0')) fail('validation_error', 'a text contains the character NUL (\\u0000)')
  if (!text.isWellFormed())
    fail('validation_error', 'a text contains half of a surrogate pair, which is no Unicode character')
}

function endOfNumber(text: string, start: number): number {
  let i = start + 1
  while (i < text.length && /[0-9.eE+-]/.test(text[i]!)) i++
  const digits = text.slice(start, i)
  if (digits.length > 15 && /^-?\d+$/.test(digits) && !Number.isSafeInteger(Number(digits)))
    fail('validation_error', `the number ${digits.slice(0, 32)} is outside the range of exact integers`)
  return i - 1
}
