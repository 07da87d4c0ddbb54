import { failScim } from './errors.ts'

export const comparisons = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const
export type Comparison = (typeof comparisons)[number]
export type FilterValue = string | number | boolean | null

/** A filter of RFC 7644 §3.4.2.2. Attribute names are as written; the caller interprets them. */
export type ScimFilter =
  | { kind: 'and' | 'or'; left: ScimFilter; right: ScimFilter }
  | { kind: 'not'; of: ScimFilter }
  | { kind: 'compare'; path: string; op: Comparison; value: FilterValue }
  | { kind: 'present'; path: string }
  /** Matches if one value of a multi-valued attribute matches. */
  | { kind: 'some'; path: string; of: ScimFilter }

/** Limits of one filter. */
const most = { characters: 4096, conditions: 50, depth: 20 }

type Token = { at: number } & (
  | { is: 'word' | 'sub'; text: string }
  | { is: 'string' | 'number'; value: string | number }
  | { is: '(' | ')' | '[' | ']' | 'end' }
)
/** An attribute, with optional schema URN and sub-attribute; also operators and constants. */
const word = /[A-Za-z$][\w$.:-]*/y
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const text = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y

/** Follows the brackets of a value path. */
const subAttribute = /\.[A-Za-z$][\w$-]*/y

function matchAt(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0]
}

const wrong = (at: number, what: string): never => failScim('invalidFilter', `filter: ${what} at character ${at + 1}`)

function* tokensOf(source: string): Generator<Token> {
  let at = 0
  while (at < source.length) {
    const c = source[at]!
    if (c === ' ') {
      at++
      continue
    }
    if (c === '(' || c === ')' || c === '[' || c === ']') {
      yield { is: c, at }
      at++
      continue
    }
    const sub = c === '.' && source[at - 1] === ']' ? matchAt(subAttribute, source, at) : undefined
    if (sub !== undefined) {
      yield { is: 'sub', text: sub.slice(1), at }
      at += sub.length
      continue
    }
    const quoted = matchAt(text, source, at)
    const digits = quoted ?? matchAt(number, source, at)
    const name = digits ?? matchAt(word, source, at)
    if (name === undefined) return wrong(at, 'unexpected character')
    if (quoted !== undefined) yield { is: 'string', value: storableText(quoted, at), at }
    else if (digits !== undefined) yield { is: 'number', value: Number(digits), at }
    else yield { is: 'word', text: name, at }
    at += name.length
  }
  yield { is: 'end', at }
}

function storableText(quoted: string, at: number): string {
  const value = JSON.parse(quoted) as string
  if (value.includes('\0') || !value.isWellFormed()) wrong(at, 'a string has a character that cannot be stored')
  return value
}

const isComparison = (name: string): name is Comparison => (comparisons as readonly string[]).includes(name)
/** Parses a filter. Throws 400 `invalidFilter` with the position. `not` binds closest, then `and`, then `or`. */
export function parseFilter(source: string): ScimFilter {
  if (source.length > most.characters) failScim('invalidFilter', `filter: is longer than ${most.characters} characters`)
  const tokens = [...tokensOf(source)]
  let next = 0
  let conditions = 0
  const peek = () => tokens[next]!
  const take = () => tokens[next++]!
  const isWord = (name: string) => {
    const t = peek()
    return t.is === 'word' && t.text.toLowerCase() === name
  }
  const expect = (is: ')' | ']') => {
    const t = take()
    if (t.is !== is) wrong(t.at, `expected ${is}`)
  }
  const requireShallow = (depth: number) => {
    if (depth > most.depth) wrong(peek().at, `nested deeper than ${most.depth} levels`)
  }

  const either = (depth: number): ScimFilter => {
    let left = both(depth)
    while (isWord('or')) {
      take()
      left = { kind: 'or', left, right: both(depth) }
    }
    return left
  }
  const both = (depth: number): ScimFilter => {
    let left = one(depth)
    while (isWord('and')) {
      take()
      left = { kind: 'and', left, right: one(depth) }
    }
    return left
  }
  const one = (depth: number): ScimFilter => {
    requireShallow(depth)
    const t = take()
    if (t.is === '(') return closed(depth, ')')
    if (t.is !== 'word') return wrong(t.at, 'expected an attribute')
    if (t.text.toLowerCase() === 'not' && peek().is === '(') {
      take()
      return { kind: 'not', of: closed(depth, ')') }
    }
    if (peek().is === '[') return some(t.text, depth)
    return condition(t.text)
  }
  const closed = (depth: number, end: ')' | ']'): ScimFilter => {
    const of = either(depth + 1)
    expect(end)
    return of
  }
  const some = (path: string, depth: number): ScimFilter => {
    take()
    const of = closed(depth, ']')
    const t = peek()
    if (t.is !== 'sub') return { kind: 'some', path, of }
    take()
    // Syntax of Entra ID: emails[type eq "work"].value eq "…" applies to the selected value.
    return { kind: 'some', path, of: { kind: 'and', left: of, right: condition(t.text) } }
  }
  const condition = (path: string): ScimFilter => {
    if (++conditions > most.conditions) wrong(peek().at, `more than ${most.conditions} conditions`)
    const t = take()
    const op = t.is === 'word' ? t.text.toLowerCase() : ''
    if (op === 'pr') return { kind: 'present', path }
    if (!isComparison(op)) return wrong(t.at, `expected one of ${[...comparisons, 'pr'].join(', ')}`)
    return { kind: 'compare', path, op, value: value() }
  }
  const constants: Record<string, boolean | null> = { true: true, false: false, null: null }
  const value = (): FilterValue => {
    const t = take()
    if (t.is === 'string' || t.is === 'number') return t.value
    const name = t.is === 'word' ? t.text.toLowerCase() : ''
    if (Object.hasOwn(constants, name)) return constants[name]!
    return wrong(t.at, 'expected a value: a string in double quotes, a number, true, false or null')
  }

  const found = either(0)
  if (peek().is !== 'end') wrong(peek().at, 'expected and, or, or the end')
  return found
}
