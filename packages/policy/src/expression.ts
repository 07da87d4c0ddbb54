import { ExpressionError, readTokens, type Token } from './lexer.ts'

/**
 * The language of posture checks.
 *
 *     expression := and { "||" and }              and := unary { "&&" unary }
 *     unary      := "!" unary | "(" expression ")" | comparison
 *     comparison := operand [ ("==" | "!=" | "<" | "<=" | ">" | ">=") operand ]
 *                 | fact "in" "[" literal { "," literal } "]"      literal "in" fact
 *                 | "within_last" "(" fact "," seconds ")"
 *     operand    := fact | literal                literal := "text" | number | "true" | "false"
 *
 * It has no loops, and no calls except `within_last`. Evaluation cannot fail: every expression has one of three values
 * for every report, see `evaluateExpression`.
 */
export type Expression =
  | { readonly op: 'and' | 'or'; readonly parts: readonly Expression[] }
  | { readonly op: 'not'; readonly part: Expression }
  | { readonly op: 'compare'; readonly sign: Sign; readonly left: Operand; readonly right: Operand }
  | { readonly op: 'one_of'; readonly fact: string; readonly values: readonly Literal[] }
  | { readonly op: 'contains'; readonly fact: string; readonly value: Literal }
  | { readonly op: 'within_last'; readonly fact: string; readonly seconds: number }
  | { readonly op: 'constant'; readonly value: boolean }
  | { readonly op: 'fact'; readonly fact: string }

export type Literal = string | number | boolean
export type Operand = { readonly fact: string } | { readonly literal: Literal }
export type Sign = '==' | '!=' | '<' | '<=' | '>' | '>='

const maxLength = 4_096
const maxDepth = 32
const maxSeconds = 10 * 365 * 86_400
const signs: readonly string[] = ['==', '!=', '<', '<=', '>', '>='] satisfies Sign[]
const reserved = ['true', 'false', 'in', 'within_last']

/** Throws `ExpressionError` with the line and column of the mistake. */
export function parseExpression(text: string): Expression {
  if (text.length > maxLength)
    throw new ExpressionError(
      `the expression has more than ${maxLength} characters; divide it into several checks`,
      text,
      maxLength,
    )
  const tokens = readTokens(text)
  let at = 0
  let depth = 0

  const peek = (): Token => tokens[at] ?? { kind: 'end', value: '', offset: text.length }
  const refuse = (message: string, token = peek()): never => {
    throw new ExpressionError(
      token.kind === 'end' ? `${message}, but the expression ends here` : message,
      text,
      token.offset,
    )
  }
  const isNext = (value: string): boolean => {
    const token = peek()
    return token.kind === 'symbol' && token.value === value
  }
  const take = (value: string): boolean => {
    if (!isNext(value)) return false
    at++
    return true
  }
  const expect = (value: string): void => {
    if (!take(value)) refuse(`expected "${value}"`)
  }
  const deeper = <T>(read: () => T): T => {
    if (++depth > maxDepth)
      refuse(`more than ${maxDepth} levels of ( ) and !; divide the expression into several checks`)
    const result = read()
    depth--
    return result
  }

  const chain = (op: 'and' | 'or', sign: string, read: () => Expression): Expression => {
    const first = read()
    if (!isNext(sign)) return first
    const parts = [first]
    while (take(sign)) parts.push(read())
    return { op, parts }
  }
  const readOr = (): Expression => chain('or', '||', readAnd)
  const readAnd = (): Expression => chain('and', '&&', readUnary)

  const readUnary = (): Expression =>
    deeper(() => {
      if (take('!')) return { op: 'not', part: readUnary() }
      if (!take('(')) return readComparison()
      const inner = readOr()
      expect(')')
      return inner
    })

  const readComparison = (): Expression => {
    const start = peek()
    if (start.kind === 'word' && start.value === 'within_last') return readWithinLast()
    const left = readOperand()
    const next = peek()
    if (next.kind === 'word' && next.value === 'in') {
      at++
      return readIn(left, start)
    }
    if (next.kind === 'symbol' && isSign(next.value)) {
      at++
      const right = readOperand()
      if ('literal' in left && 'literal' in right) refuse('both sides are constants; write a fact on one side', start)
      return { op: 'compare', sign: next.value, left, right }
    }
    if ('fact' in left) return { op: 'fact', fact: left.fact }
    if (typeof left.literal === 'boolean') return { op: 'constant', value: left.literal }
    return refuse('a constant is no condition; compare it with a fact', start)
  }

  const readWithinLast = (): Expression => {
    at++
    expect('(')
    const fact = readFact()
    expect(',')
    const token = peek()
    const seconds = token.kind === 'number' ? token.value : 0
    if (seconds <= 0 || seconds > maxSeconds) refuse(`expected a number of seconds from 1 to ${maxSeconds}`)
    at++
    expect(')')
    return { op: 'within_last', fact, seconds }
  }

  const readIn = (left: Operand, start: Token): Expression => {
    if ('literal' in left) return { op: 'contains', fact: readFact(), value: left.literal }
    if (!take('[')) refuse(`expected a list such as ["a", "b"] after "in"`)
    const values: Literal[] = []
    do {
      const operand = readOperand()
      if ('fact' in operand) refuse('a list contains constants only; remove the fact from the list', start)
      else values.push(operand.literal)
    } while (take(','))
    expect(']')
    return { op: 'one_of', fact: left.fact, values }
  }

  const readOperand = (): Operand => {
    const token = peek()
    if (token.kind === 'text' || token.kind === 'number') {
      at++
      return { literal: token.value }
    }
    if (token.kind === 'word' && (token.value === 'true' || token.value === 'false')) {
      at++
      return { literal: token.value === 'true' }
    }
    return { fact: readFact() }
  }

  const readFact = (): string => {
    const token = peek()
    if (token.kind !== 'word') return refuse('expected a fact such as disk.encrypted, a text, a number, true or false')
    if (reserved.includes(token.value))
      refuse(`"${token.value}" is a word of the language; write the name of a fact here`)
    if (token.value.split('.').includes('') || token.value.length > 128)
      refuse(`"${token.value}" is not the name of a fact; write it like disk.encrypted`)
    at++
    return token.value
  }

  const expression = readOr()
  if (peek().kind !== 'end') refuse('expected && or || or the end of the expression')
  return expression
}

const isSign = (value: string): value is Sign => signs.includes(value)

/** Returns the facts that an expression reads, sorted. */
export function factsIn(expression: Expression): string[] {
  const names = new Set<string>()
  const walk = (e: Expression): void => {
    if ('parts' in e) e.parts.forEach(walk)
    else if ('part' in e) walk(e.part)
    else if ('fact' in e) names.add(e.fact)
    else if (e.op === 'compare') for (const side of [e.left, e.right]) if ('fact' in side) names.add(side.fact)
  }
  walk(expression)
  return [...names].sort()
}
