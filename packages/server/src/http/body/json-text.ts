import { fail } from '../../kernel/app-error.ts'
import type { Sliced } from '../../kernel/time-slice.ts'

export const maxDepth = 32
/**
 * Limit of the values in a body, or twice its limit of names if that is higher: three lists of the 10,000 members of a
 * group.
 */
const leastValues = 40_000
/** Number of names of the widest object in any schema: the resources of a policy. */
const maxNamesOfOne = 5000
/** Limit of objects and arrays in a body, or one per 20 bytes if that is higher: a policy of 1 MiB needs that. */
const leastParts = 50_000
const bytesOfPart = 20
/**
 * Length limit of one text in the source, unless the endpoint has its own: the longest in other schemas has 4,096
 * characters, each up to six long if escaped.
 */
const maxText = 32_768

/**
 * Interval, in characters, at which walks over JSON text pause for other work. A step takes less than a millisecond.
 * Larger texts are parsed in pieces.
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

/** Number of names in a text, and start positions of objects and arrays longer than a step. */
type Counted = { names: number; large: ReadonlySet<number> }

/**
 * Counts depth, names and values before parsing. For a wide body, parsing and each later check cost many times as much
 * as counting.
 */
export function* requireFew(text: string, maxNames: number, textLimit: number = maxText): Sliced<Counted> {
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
      if (end - i > textLimit) fail('validation_error', `a string is longer than ${textLimit} characters`)
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
  return { names, large }
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
