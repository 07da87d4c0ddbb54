import { failScim } from './errors.ts'
import type { Comparison, FilterValue, ScimFilter } from './filter.ts'

type Element = Readonly<Record<string, unknown>>
const cannot = (what: string): never => failScim('invalidFilter', `filter: ${what}`)

const foldCase = (text: string) => text.toLowerCase()
const order = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** Compares text without regard to case, in byte order. */
export function compareText(op: Comparison, has: string, value: string): boolean {
  const [a, b] = [foldCase(has), foldCase(value)]
  switch (op) {
    case 'eq':
      return a === b
    case 'ne':
      return a !== b
    case 'co':
      return a.includes(b)
    case 'sw':
      return a.startsWith(b)
    case 'ew':
      return a.endsWith(b)
    case 'gt':
      return order(a, b) > 0
    case 'ge':
      return order(a, b) >= 0
    case 'lt':
      return order(a, b) < 0
    case 'le':
      return order(a, b) <= 0
  }
}

/** Accepts a boolean or, as Entra ID writes it, the text "True" or "False". Undefined for any other value. */
export const truthOf = (value: unknown): boolean | undefined => {
  if (typeof value === 'boolean') return value
  if (typeof value !== 'string') return undefined
  return { true: true, false: false }[value.toLowerCase()]
}

function compare(op: Comparison, has: unknown, value: FilterValue): boolean {
  // A missing value equals only null and differs from everything else.
  if (value === null || has === undefined) {
    const isSame = value === null && has === undefined
    if (op !== 'eq' && op !== 'ne') return value === null ? cannot(`${op} needs a value other than null`) : false
    return op === 'eq' ? isSame : !isSame
  }
  if (typeof has === 'boolean') {
    const boolean = truthOf(value)
    if (boolean === undefined || (op !== 'eq' && op !== 'ne'))
      return cannot('a boolean can only be compared with true or false, by eq or ne')
    return (has === boolean) === (op === 'eq')
  }
  if (typeof value !== 'string') return cannot('a string can only be compared with a string')
  return compareText(op, String(has), value)
}

/** True if one value of an attribute matches, as in `emails[…]`. `names`: its sub-attributes. */
export function fitsElement(filter: ScimFilter, element: Element, names: readonly string[]): boolean {
  const of = (path: string) => {
    const name = names.find((n) => n.toLowerCase() === path.toLowerCase())
    return element[name ?? cannot(`"${path.slice(0, 64)}" is not a known attribute here`)]
  }
  switch (filter.kind) {
    case 'and':
      return fitsElement(filter.left, element, names) && fitsElement(filter.right, element, names)
    case 'or':
      return fitsElement(filter.left, element, names) || fitsElement(filter.right, element, names)
    case 'not':
      return !fitsElement(filter.of, element, names)
    case 'present':
      return of(filter.path) !== undefined
    case 'compare':
      return compare(filter.op, of(filter.path), filter.value)
    case 'some':
      return cannot('filters cannot be nested')
  }
}

/** Values that a filter prescribes, such as `type eq "work" and primary eq true`. Undefined for any other filter. */
export function valuesSaid(filter: ScimFilter, names: readonly string[]): Record<string, FilterValue> | undefined {
  if (filter.kind === 'and') {
    const [left, right] = [valuesSaid(filter.left, names), valuesSaid(filter.right, names)]
    return left && right && { ...left, ...right }
  }
  if (filter.kind !== 'compare' || filter.op !== 'eq') return undefined
  const name = names.find((n) => n.toLowerCase() === filter.path.toLowerCase())
  return name === undefined ? undefined : { [name]: filter.value }
}
