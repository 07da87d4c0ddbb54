import type { Expression, Literal, Operand, Sign } from './expression.ts'
import { parseInstant } from './instant.ts'
import { compareVersions, parseVersion } from './version.ts'

/** What an expression says of a report: null is unknown. */
export type Truth = boolean | null

type Facts = Readonly<Record<string, unknown>>

/** How far a device's clock may run ahead of ours before its times stop counting. */
const clockSkewMs = 300_000

/**
 * Three-valued (Kleene): a fact that is missing, or is not of the type it is compared with, makes its comparison
 * unknown; `!` of unknown is unknown; `&&` is false and `||` is true when one side settles it, else unknown stays. A
 * check passes on true alone, so absence never passes, however it is negated.
 *
 * `==`, `!=` and `in` compare exactly, texts as texts. Order is that of numbers, or of versions when both are texts.
 * `until` is when the answer may change though the facts stay: a `within_last` runs out. Infinity when it never does.
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

/** Own properties only: a fact is never found on a prototype. */
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

/**
 * Whether a fact that is a list holds the value. A list that also holds something else than values is not understood.
 */
function contains(fact: unknown, value: Literal): Truth {
  if (!Array.isArray(fact) || !fact.every(isScalar)) return null
  if (fact.includes(value)) return true
  return fact.every((entry) => typeof entry === typeof value) ? false : null
}

/** A fact that is an RFC 3339 time, or seconds since the epoch. */
function withinLast(fact: unknown, windowMs: number, nowMs: number): { value: Truth; until: number } {
  const at = typeof fact === 'string' ? parseInstant(fact) : typeof fact === 'number' ? fact * 1_000 : null
  if (at === null || !Number.isFinite(at)) return { value: null, until: Number.POSITIVE_INFINITY }
  if (nowMs < at - clockSkewMs) return { value: false, until: at - clockSkewMs }
  return nowMs <= at + windowMs
    ? { value: true, until: at + windowMs + 1 }
    : { value: false, until: Number.POSITIVE_INFINITY }
}
