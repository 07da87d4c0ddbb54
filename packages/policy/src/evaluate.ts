import type { Expression, Literal, Operand, Sign } from './expression.ts'
import { parseInstant } from './instant.ts'
import { compareVersions, parseVersion } from './version.ts'

/** Result of an expression; null is unknown. */
export type Truth = boolean | null

type Facts = Readonly<Record<string, unknown>>

/** Tolerance for a device's clock that is ahead of ours, in ms. Times further ahead do not count. */
const clockSkewMs = 300_000

/**
 * Evaluates with three values (Kleene). A fact that is missing or of another type makes its comparison unknown. `!` of
 * unknown is unknown. `&&` is false and `||` is true if one side decides it; otherwise unknown remains. Only true
 * passes a check, so an absent fact never passes, not even negated.
 * `==`, `!=` and `in` compare exactly, texts as texts. The order signs compare numbers, or versions if both are texts.
 * `until`: when the result may change with the same facts, because a `within_last` ends. Infinity if it never does.
 */
export function evaluateExpression(
  expression: Expression,
  facts: Facts,
  nowMs: number,
): { value: Truth; until: number } {
  let until = Number.POSITIVE_INFINITY

  const evaluate = (e: Expression): Truth => {
    switch (e.op) {
      case 'and':
        return fold(e.parts, false)
      case 'or':
        return fold(e.parts, true)
      case 'not': {
        const value = evaluate(e.part)
        return value === null ? null : !value
      }
      case 'constant':
        return e.value
      case 'fact': {
        const value = factOf(facts, e.fact)
        return typeof value === 'boolean' ? value : null
      }
      case 'compare':
        return compare(e.sign, read(e.left), read(e.right))
      case 'one_of':
        return isOneOf(factOf(facts, e.fact), e.values)
      case 'contains':
        return contains(factOf(facts, e.fact), e.value)
      case 'within_last': {
        const window = withinLast(factOf(facts, e.fact), e.seconds * 1_000, nowMs)
        until = Math.min(until, window.until)
        return window.value
      }
    }
  }

  const fold = (parts: readonly Expression[], settles: boolean): Truth => {
    let value: Truth = !settles
    for (const part of parts) {
      const next = evaluate(part)
      if (next === settles) return settles
      if (next === null) value = null
    }
    return value
  }

  const read = (operand: Operand): unknown => ('fact' in operand ? factOf(facts, operand.fact) : operand.literal)

  return { value: evaluate(expression), until }
}

/** Returns an own property only, never one of a prototype. */
export const factOf = (facts: Facts, name: string): unknown => (Object.hasOwn(facts, name) ? facts[name] : undefined)

const isScalar = (value: unknown): value is Literal =>
  typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value))

function compare(sign: Sign, a: unknown, b: unknown): Truth {
  if (!isScalar(a) || !isScalar(b) || typeof a !== typeof b) return null
  if (sign === '==') return a === b
  if (sign === '!=') return a !== b
  const order = orderOf(a, b)
  if (order === null) return null
  if (sign === '<') return order < 0
  if (sign === '<=') return order <= 0
  return sign === '>' ? order > 0 : order >= 0
}

function orderOf(a: Literal, b: Literal): number | null {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a !== 'string' || typeof b !== 'string') return null
  const [left, right] = [parseVersion(a), parseVersion(b)]
  return left && right && compareVersions(left, right)
}

function isOneOf(value: unknown, values: readonly Literal[]): Truth {
  if (!isScalar(value)) return null
  if (values.includes(value)) return true
  return values.every((v) => typeof v === typeof value) ? false : null
}

/** True if a list fact contains the value. Unknown if the list also contains something that is not a scalar. */
function contains(fact: unknown, value: Literal): Truth {
  if (!Array.isArray(fact) || !fact.every(isScalar)) return null
  if (fact.includes(value)) return true
  return fact.every((entry) => typeof entry === typeof value) ? false : null
}

/** Evaluates a fact that is an RFC 3339 time, or seconds since the epoch. */
function withinLast(fact: unknown, windowMs: number, nowMs: number): { value: Truth; until: number } {
  const at = typeof fact === 'string' ? parseInstant(fact) : typeof fact === 'number' ? fact * 1_000 : null
  if (at === null || !Number.isFinite(at)) return { value: null, until: Number.POSITIVE_INFINITY }
  if (nowMs < at - clockSkewMs) return { value: false, until: at - clockSkewMs }
  return nowMs <= at + windowMs
    ? { value: true, until: at + windowMs + 1 }
    : { value: false, until: Number.POSITIVE_INFINITY }
}
