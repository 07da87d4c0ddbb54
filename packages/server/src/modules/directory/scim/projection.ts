import { fail } from '../../../kernel/app-error.ts'
import { type Kind, withoutUrn } from './attributes.ts'

export type Projection = {
  /** True if an attribute is shown. Hidden attributes need not be read. */
  shows: (name: string) => boolean
  /** True if a sub-attribute is shown. */
  showsPart: (name: string, part: string) => boolean
  of: <E extends object>(entry: E) => E
}
type Query = { attributes?: string; excludedAttributes?: string }

/** Always returned (RFC 7643 §7). */
const always = ['schemas', 'id']

/** Names in lower case, without the URN of the type's own schema. */
const namesOf = (kind: Kind, list: string | undefined): string[] | undefined =>
  list?.split(',').flatMap((written) => {
    const name = withoutUrn(kind, written.trim())?.toLowerCase()
    return name ? [name] : []
  })

/** `attributes` and `excludedAttributes` (RFC 7644 §3.9). Unknown names have no effect. */
export function projectionOf(kind: Kind, { attributes, excludedAttributes }: Query): Projection {
  if (attributes !== undefined && excludedAttributes !== undefined)
    fail('bad_request', 'excludedAttributes: cannot be combined with attributes')
  const attributeNames = namesOf(kind, attributes)
  const unwanted = new Set(namesOf(kind, excludedAttributes))
  const isUnder = (name: string, path: string) => path === name || path.startsWith(`${name}.`)
  const shows = (name: string) => {
    const own = name.toLowerCase()
    if (always.includes(own)) return true
    return attributeNames ? attributeNames.some((path) => isUnder(own, path)) : !unwanted.has(own)
  }
  const showsPart = (name: string, part: string) => {
    const path = `${name}.${part}`.toLowerCase()
    return attributeNames
      ? attributeNames.includes(name.toLowerCase()) || attributeNames.includes(path)
      : !unwanted.has(path)
  }
  /** Undefined if no part of a value is shown: an object without members has no meaning. */
  const partsOf = (name: string, value: unknown): unknown => {
    if (always.includes(name) || typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) {
      const items = value.map((item) => partsOf(name, item)).filter((item) => item !== undefined)
      return items.length > 0 || value.length === 0 ? items : undefined
    }
    const kept = Object.entries(value).filter(([part]) => showsPart(name, part))
    return kept.length > 0 ? Object.fromEntries(kept) : undefined
  }
  const isWhole = !attributeNames && unwanted.size === 0
  return {
    shows,
    showsPart,
    of: <E extends object>(entry: E): E => {
      if (isWhole) return entry
      const kept = Object.entries(entry)
        .filter(([name]) => shows(name))
        .map(([name, value]) => [name, partsOf(name, value)] as const)
      return Object.fromEntries(kept.filter(([, value]) => value !== undefined)) as E
    },
  }
}
