import type { PolicyDocument, PolicySubjects } from '@holdfast/contract/policy-document'
import { type DocumentError, positionOf, type Step } from './position.ts'
import { createSuggest, didYouMean } from './suggest.ts'

const kinds = ['users', 'groups', 'devices', 'pools'] as const
type Kind = (typeof kinds)[number]

/** Name as written → positions of its use. */
export type References = Record<Kind, Map<string, string[]>>
/** Name as written → id. `groupNames`: names of the directory to suggest for an unknown group. */
export type Lookup = Readonly<Record<Kind, ReadonlyMap<string, string>>> & { readonly groupNames?: readonly string[] }

/** A document with the ids of its names at the time of resolution. Plain JSON, stored with a published version. */
export type ResolvedPolicy = { readonly document: PolicyDocument } & Readonly<
  Record<Kind, Readonly<Record<string, string>>>
>

/**
 * Returns the names that the directory must know: users (user_id, username or email), groups (group_id or name),
 * devices (device_id) and gateway pools (pool_id or name). Names of the document's own groups are left out.
 */
export function referencesOf(document: PolicyDocument): References {
  const references: References = { users: new Map(), groups: new Map(), devices: new Map(), pools: new Map() }
  const own = document.groups ?? {}
  const add = (kind: Kind, name: string | undefined, at: readonly Step[]): void => {
    if (name === undefined || (kind === 'groups' && Object.hasOwn(own, name))) return
    const positions = references[kind].get(name)
    if (positions) positions.push(positionOf(at))
    else references[kind].set(name, [positionOf(at)])
  }
  const addSubjects = (subjects: PolicySubjects | undefined, at: readonly Step[]): void => {
    for (const kind of ['users', 'groups', 'devices'] as const) {
      for (const [i, name] of (subjects?.[kind] ?? []).entries()) add(kind, name, [...at, kind, i])
    }
  }

  for (const [name, group] of Object.entries(own)) addSubjects(group, ['groups', name])
  for (const [name, { pool }] of Object.entries(document.resources ?? {}))
    add('pools', pool, ['resources', name, 'pool'])
  for (const [i, rule] of document.rules.entries()) {
    addSubjects(rule.from, ['rules', i, 'from'])
    addSubjects(rule.except, ['rules', i, 'except'])
    for (const [j, pool] of (rule.via ?? []).entries()) add('pools', pool, ['rules', i, 'via', j])
  }
  for (const [i, { from }] of (document.tests ?? []).entries()) {
    add('users', from.user, ['tests', i, 'from', 'user'])
    add('groups', from.group, ['tests', i, 'from', 'group'])
    for (const [j, name] of (from.groups ?? []).entries()) add('groups', name, ['tests', i, 'from', 'groups', j])
    add('devices', from.device, ['tests', i, 'from', 'device'])
  }
  return references
}

const nouns = { users: 'user', groups: 'group', devices: 'device', pools: 'gateway pool' } as const
const handles = {
  users: 'user_id, username or email',
  groups: 'name or group_id',
  devices: 'device_id',
  pools: 'name or pool_id',
} as const

/**
 * Resolves the names of a checked document to ids, or returns the positions of unknown names, at most `limit` errors.
 */
export function resolveDocument(
  document: PolicyDocument,
  lookup: Lookup,
  limit = 50,
): { resolved: ResolvedPolicy } | { errors: DocumentError[] } {
  const references = referencesOf(document)
  const errors: DocumentError[] = []
  const nearGroup = createSuggest(() => new Set([...Object.keys(document.groups ?? {}), ...(lookup.groupNames ?? [])]))
  const unknown = (kind: Kind, name: string): string => {
    const near = kind === 'groups' ? nearGroup(name) : []
    return `no ${nouns[kind]} has the ${handles[kind]} "${name}"${near.length > 0 ? `.${didYouMean(near)}` : `; correct it, or create the ${nouns[kind]} first`}`
  }
  const tableOf = (kind: Kind): Record<string, string> => {
    const entries: [string, string][] = []
    for (const [name, positions] of references[kind]) {
      const id = lookup[kind].get(name)
      if (id !== undefined) entries.push([name, id])
      else
        for (const field of positions) if (errors.length < limit) errors.push({ field, message: unknown(kind, name) })
    }
    return Object.fromEntries(entries)
  }
  const [users, groups, devices, pools] = [tableOf('users'), tableOf('groups'), tableOf('devices'), tableOf('pools')]
  return errors.length > 0 ? { errors } : { resolved: { document, users, groups, devices, pools } }
}
