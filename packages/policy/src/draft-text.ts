import { POLICY_LIMITS } from '@holdfast/contract/policy-document'

type Fields = Readonly<Record<string, unknown>>
/** A fault of a text; line and column begin at 1. */
type TextFault = { line: number; column: number; message: string }

/**
 * Reads a document as it was typed. The text is strict JSON (RFC 8259), except that a byte order mark is skipped.
 * Faults that a parser hides, such as a name that an object has twice, are refused, because a part of the document
 * would be lost.
 */
export function readDocumentText(text: string): { document: Fields } | { fault: TextFault } {
  const reader = new Reader(text)
  try {
    reader.read()
  } catch (e) {
    if (!(e instanceof Fault)) throw e
    const before = text.slice(0, e.at)
    const start = before.lastIndexOf('\n') + 1
    return { fault: { line: before.split('\n').length, column: e.at - start + 1, message: e.message } }
  }
  return { document: JSON.parse(text.replace(/^\ufeff/, '')) as Fields }
}

class Fault extends Error {
  readonly at: number
  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}

const number = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const word = /true|false|null/y
const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const quote = 0x22
const backslash = 0x5c
const firstPrintable = 0x20

class Reader {
  readonly #text: string
  #at: number

  constructor(text: string) {
    this.#text = text
    this.#at = text.startsWith('\ufeff') ? 1 : 0
  }

  read(): void {
    if (this.#next() !== '{') this.#fail('the document is not a JSON object: begin with {')
    this.#value(1)
    if (this.#next() !== '') this.#fail('there is text after the end of the document')
  }

  #fail(message: string, at = this.#at): never {
    throw new Fault(at, message)
  }

  /** Skips white space, and returns the next character; empty at the end. */
  #next(): string {
    while (' \t\n\r'.includes(this.#text[this.#at] ?? '?')) this.#at++
    return this.#text[this.#at] ?? ''
  }

  #value(depth: number): void {
    const c = this.#next()
    if (c === '{' || c === '[') {
      if (depth > POLICY_LIMITS.depth) this.#fail(`the document is nested deeper than ${POLICY_LIMITS.depth} levels`)
      this.#at++
      if (c === '{') this.#members(depth)
      else this.#items(depth)
    } else if (c === '"') this.#string()
    else if (c === '-' || (c >= '0' && c <= '9')) this.#number()
    else if (!this.#skips(word)) this.#fail(c === '' ? 'the text ends too early' : 'a value is expected here')
  }

  #members(depth: number): void {
    const names = new Set<string>()
    if (this.#ends('}')) return
    do {
      if (this.#next() !== '"') this.#fail('a name in double quotes is expected here')
      const start = this.#at
      this.#string()
      const name = JSON.parse(this.#text.slice(start, this.#at)) as string
      if (names.has(name)) this.#fail(`the object has the name ${JSON.stringify(name)} twice; keep one of them`, start)
      names.add(name)
      if (this.#next() !== ':') this.#fail('a colon is expected here')
      this.#at++
      this.#value(depth + 1)
    } while (this.#continues('}'))
  }

  #items(depth: number): void {
    if (this.#ends(']')) return
    do this.#value(depth + 1)
    while (this.#continues(']'))
  }

  /** True if the list or object ends here. */
  #ends(end: string): boolean {
    if (this.#next() !== end) return false
    this.#at++
    return true
  }

  /** True after a comma; false after the end of the list or object. */
  #continues(end: string): boolean {
    if (this.#ends(end)) return false
    if (this.#next() !== ',') this.#fail(`a comma or ${end} is expected here`)
    this.#at++
    return true
  }

  #string(): void {
    const start = this.#at++
    for (;;) {
      const c = this.#text.charCodeAt(this.#at)
      if (Number.isNaN(c)) this.#fail('the closing quote is missing', start)
      if (c < firstPrintable) this.#fail('a text has a line break or a control character; write \\n or close the quote')
      if (c === backslash) {
        if (!this.#skips(escapeSequence))
          this.#fail('a backslash is followed by an unknown escape; write \\\\ for a backslash')
        continue
      }
      this.#at++
      if (c === quote) return
    }
  }

  #number(): void {
    number.lastIndex = this.#at
    const [digits = '', fraction, exponent] = number.exec(this.#text) ?? []
    if (digits === '') this.#fail('the number is not complete')
    const value = Number(digits)
    const isExact = fraction !== undefined || exponent !== undefined || Number.isSafeInteger(value)
    if (!Number.isFinite(value) || !isExact) this.#fail('the number has too many digits, so it would change')
    this.#at += digits.length
  }

  #skips(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)
    if (found) this.#at += found[0].length
    return found !== null
  }
}
