/** A mistake in an expression. `line` and `column` count from 1. */
export class ExpressionError extends Error {
  readonly line: number
  readonly column: number
  constructor(message: string, text: string, offset: number) {
    super(message)
    const before = text.slice(0, offset).split('\n')
    this.line = before.length
    this.column = (before.at(-1)?.length ?? 0) + 1
  }
}

export type Token = { readonly offset: number } & (
  | { readonly kind: 'symbol'; readonly value: string }
  | { readonly kind: 'word'; readonly value: string }
  | { readonly kind: 'text'; readonly value: string }
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'end'; readonly value: '' }
)

const symbols = ['&&', '||', '==', '!=', '<=', '>=', '<', '>', '!', '(', ')', '[', ']', ',']
const isSpace = (c: string): boolean => c === ' ' || c === '\n' || c === '\t' || c === '\r'
const isDigit = (c: string): boolean => c >= '0' && c <= '9'
const isWordStart = (c: string): boolean => (c >= 'a' && c <= 'z') || c === '_'
const isWordPart = (c: string): boolean => isWordStart(c) || isDigit(c) || c === '.'

/** Returns the tokens of an expression, in one pass by character. Throws `ExpressionError`. */
export function readTokens(text: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  while (at < text.length) {
    const c = text.charAt(at)
    if (isSpace(c)) {
      at++
      continue
    }
    const token = readToken(text, at)
    tokens.push(token.token)
    at = token.end
  }
  tokens.push({ kind: 'end', value: '', offset: at })
  return tokens
}

type Read = { token: Token; end: number }

function readToken(text: string, offset: number): Read {
  const c = text.charAt(offset)
  if (c === '"') return readText(text, offset)
  if (isDigit(c) || (c === '-' && isDigit(text.charAt(offset + 1)))) return readNumber(text, offset)
  if (isWordStart(c)) {
    const end = endOf(text, offset, isWordPart)
    return { token: { kind: 'word', value: text.slice(offset, end), offset }, end }
  }
  const symbol = symbols.find((s) => text.startsWith(s, offset))
  if (!symbol) throw new ExpressionError(`unexpected character ${JSON.stringify(c)}; ${hintOf(c)}`, text, offset)
  return { token: { kind: 'symbol', value: symbol, offset }, end: offset + symbol.length }
}

const hints: Readonly<Record<string, string>> = {
  '&': 'write &&',
  '|': 'write ||',
  '=': 'write ==',
  "'": 'write a text in double quotes',
}
const hintOf = (c: string): string =>
  hints[c] ??
  (c >= 'A' && c <= 'Z' ? 'names of facts have lower-case letters' : 'remove it, or write a text in double quotes')

function endOf(text: string, from: number, holds: (c: string) => boolean): number {
  let at = from
  while (at < text.length && holds(text.charAt(at))) at++
  return at
}

function readNumber(text: string, offset: number): Read {
  let end = endOf(text, offset + 1, isDigit)
  if (text[end] === '.') end = endOf(text, end + 1, isDigit)
  const digits = text.slice(offset, end)
  if (digits.endsWith('.') || text[end] === '.' || isWordStart(text.charAt(end))) {
    throw new ExpressionError('this is not a number; write a version in double quotes: "14.2.1"', text, offset)
  }
  return { token: { kind: 'number', value: Number(digits), offset }, end }
}

/** Reads a text in double quotes. A backslash escapes `"` or `\`. */
function readText(text: string, offset: number): Read {
  let value = ''
  for (let at = offset + 1; at < text.length; at++) {
    const c = text.charAt(at)
    if (c === '"') return { token: { kind: 'text', value, offset }, end: at + 1 }
    if (c !== '\\') value += c
    else if ('"\\'.includes(text.charAt(at + 1) || ' ')) value += text.charAt(++at)
    else throw new ExpressionError('only " or \\ can follow a backslash; write \\\\ for one backslash', text, at)
  }
  throw new ExpressionError('the text has no closing quote; add " at its end', text, offset)
}
