import { ignoredOfUsers, scimUrns } from '@holdfast/contract/scim-shapes'
import { failScim } from './errors.ts'
import { parseFilter, type ScimFilter } from './filter.ts'

/** Attributes of a resource type. */
export type Kind = {
  urn: string
  /** Attributes that a client may set, with the stored sub-attributes. */
  settable: Readonly<Record<string, readonly string[]>>
  readOnly: readonly string[]
  /** Sent by clients, but not stored. */
  ignored: readonly string[]
}
export const nameParts = [
  'formatted',
  'familyName',
  'givenName',
  'middleName',
  'honorificPrefix',
  'honorificSuffix',
] as const
export const emailParts = ['value', 'type', 'primary', 'display'] as const

export const userKind: Kind = {
  urn: scimUrns.user,
  settable: { externalId: [], userName: [], displayName: [], active: [], name: nameParts, emails: emailParts },
  readOnly: ['id', 'meta', 'groups'],
  ignored: ['schemas', ...ignoredOfUsers],
}
export const groupKind: Kind = {
  urn: scimUrns.group,
  settable: { externalId: [], displayName: [], members: ['value', 'type', 'display', '$ref'] },
  readOnly: ['id', 'meta'],
  ignored: ['schemas'],
}

/** Finds the canonical spelling of a name. Names are case-insensitive (RFC 7643 §2.1). */
export const spelled = (name: string, names: Iterable<string>): string | undefined => {
  const lowerName = name.toLowerCase()
  for (const known of names) if (known.toLowerCase() === lowerName) return known
  return undefined
}

type Standing = 'settable' | 'readOnly' | 'ignored'
/** Classifies an attribute of a resource type. Undefined if it is unknown. Attributes of other schemas are ignored. */
export function attributeOf(kind: Kind, written: string): { name: string; is: Standing } | undefined {
  const name = withoutUrn(kind, written)
  if (name === undefined) return { name: written, is: 'ignored' }
  const settable = spelled(name, Object.keys(kind.settable))
  if (settable) return { name: settable, is: 'settable' }
  const readOnly = spelled(name, kind.readOnly)
  if (readOnly) return { name: readOnly, is: 'readOnly' }
  const ignored = spelled(name, kind.ignored)
  return ignored ? { name: ignored, is: 'ignored' } : undefined
}

/**
 * Removes the URN of the type's own schema. Undefined for an attribute of another schema. The URN alone is no attribute
 * name and is returned as it is, so that it is refused as unknown.
 */
export function withoutUrn({ urn }: Kind, written: string): string | undefined {
  if (!/^urn:/i.test(written)) return written
  const [own, named] = [urn.toLowerCase(), written.toLowerCase()]
  if (named === own) return written
  return named.startsWith(`${own}:`) ? written.slice(urn.length + 1) : undefined
}

/** Target of a PATCH operation. */
export type PatchTarget = { name: string; is: Standing; filter?: ScimFilter; sub?: string }

const plain = /^[A-Za-z$][\w$-]*$/
const withSub = /^([A-Za-z$][\w$-]*)(?:\.([A-Za-z$][\w$-]*))?$/
const withFilter = /^([A-Za-z$][\w$-]*)\[(.*)\](?:\.([A-Za-z$][\w$-]*))?$/s

/** Parses a path (RFC 7644 §3.5.2). Throws 400 `invalidPath` for an invalid path or an unknown attribute. */
export function readPath(kind: Kind, path: string): PatchTarget {
  const written = path.trim()
  const own = withoutUrn(kind, written)
  if (own === undefined) return { name: written, is: 'ignored' }
  const filtered = withFilter.exec(own)
  const [, name = '', sub] = filtered ? [filtered[0], filtered[1], filtered[3]] : (withSub.exec(own) ?? [])
  const attribute = plain.test(name) ? attributeOf(kind, name) : undefined
  if (!attribute) return failScim('invalidPath', `path: "${written.slice(0, 128)}" is not a known attribute`)
  if (attribute.is !== 'settable') return attribute
  const parts = kind.settable[attribute.name] ?? []
  const isMany = attribute.name === 'emails' || attribute.name === 'members'
  if (filtered && !isMany)
    failScim('invalidPath', `path: ${attribute.name} has only one value, so a filter is not allowed`)
  const part = sub === undefined ? undefined : spelled(sub, parts)
  if (sub !== undefined && part === undefined)
    failScim('invalidPath', `path: "${attribute.name}.${sub.slice(0, 64)}" is not a known attribute`)
  return {
    ...attribute,
    ...(filtered && { filter: parseFilter(filtered[2] ?? '') }),
    ...(part !== undefined && { sub: part }),
  }
}
