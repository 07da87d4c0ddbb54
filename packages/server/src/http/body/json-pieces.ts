import { fail } from '../../kernel/app-error.ts'
import type { Sliced } from '../../kernel/time-slice.ts'
import { closeBrace, closeBracket, comma, endOfString, openBrace, openBracket, quote, stepLength } from './json-text.ts'

/** An object or an array longer than a step, as far as it is read. */
type Open = {
  into: Record<string, unknown> | unknown[]
  isObject: boolean
  /** Its name in the enclosing object. */
  name: string
  /** Start of the unread text, and the token before it. */
  from: number
  after: 'start' | 'comma' | 'large'
  /** Position of the last own comma in the unread text; less than `from` if there is none. */
  comma: number
}
const blank = /^[ \t\n\r]*$/

export const notJson = () => fail('bad_request', 'the body is not valid JSON')

/**
 * Parses like `JSON.parse`, in pieces: values up to the length of a step by `JSON.parse`, longer ones member by member,
 * several together. `large` is the result of `requireFew`.
 */
export function* parseInPieces(text: string, large: ReadonlySet<number>): Sliced<unknown> {
  try {
    return yield* pieces(text, large)
  } catch (e) {
    if (e instanceof SyntaxError) return notJson()
    throw e
  }
}

function* pieces(text: string, large: ReadonlySet<number>): Sliced<unknown> {
  const start = text.search(/[^ \t\n\r]/)
  if (!large.has(start)) return JSON.parse(text)
  const open: Open[] = []
  let top = opened(text, start, '')
  let depth = 0
  let pause = start + stepLength

  const readTo = (end: number) => {
    addMembers(top, text.slice(top.from, end))
    top.from = end + 1
    top.after = 'comma'
  }
  for (let i = start + 1; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === quote) i = endOfString(text, i)
    else if (c === openBrace || c === openBracket) {
      if (!large.has(i)) depth++
      else {
        if (top.after === 'large') throw new SyntaxError('a comma is missing')
        if (top.comma >= top.from) readTo(top.comma)
        open.push(top)
        top = opened(text, i, nameBefore(top, text.slice(top.from, i)))
      }
    } else if (c === closeBrace || c === closeBracket) {
      if (depth > 0) depth--
      else {
        if ((c === closeBrace) !== top.isObject) throw new SyntaxError('the wrong bracket')
        const rest = text.slice(top.from, i)
        if (!blank.test(rest) && top.after !== 'large') addMembers(top, rest)
        else if (!blank.test(rest) || top.after === 'comma')
          throw new SyntaxError('a comma is missing, or there is one too many')
        const { into, name } = top
        const outer = open.pop()
        if (!outer) {
          if (!blank.test(text.slice(i + 1))) throw new SyntaxError('text after the end')
          return into
        }
        top = outer
        if (Array.isArray(top.into)) top.into.push(into)
        else top.into[name] = into
        top.from = i + 1
        top.after = 'large'
      }
    } else if (c === comma && depth === 0) {
      if (top.after === 'large') {
        if (!blank.test(text.slice(top.from, i))) throw new SyntaxError('a comma is missing')
        top.from = i + 1
        top.after = 'comma'
      } else if (i - top.from >= stepLength) readTo(i)
      else top.comma = i
    }
    if (i >= pause) {
      pause = i + stepLength
      yield
    }
  }
  throw new SyntaxError('the text ends too early')
}

function opened(text: string, at: number, name: string): Open {
  const isObject = text.charCodeAt(at) === openBrace
  return { into: isObject ? {} : [], isObject, name, from: at + 1, after: 'start', comma: -1 }
}

/** Reads the name before a large value in an object. No other text is valid there. */
function nameBefore({ isObject }: Open, between: string): string {
  if (!isObject && blank.test(between)) return ''
  // The text parses as an object with one member only if it is a name and a colon.
  const [name] = isObject ? Object.keys(JSON.parse(`{${between}[]}`) as object) : []
  if (name === undefined) throw new SyntaxError('unexpected value')
  return name
}

function addMembers({ into }: Open, members: string): void {
  if (Array.isArray(into)) {
    const part = JSON.parse(`[${members}]`) as unknown[]
    if (part.length === 0) throw new SyntaxError('a value is missing')
    for (const value of part) into.push(value)
  } else {
    const part = JSON.parse(`{${members}}`) as Record<string, unknown>
    const names = Object.keys(part)
    if (names.length === 0) throw new SyntaxError('a member is missing')
    for (const name of names) into[name] = part[name]
  }
}
