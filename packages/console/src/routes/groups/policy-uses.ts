/** Parts of a policy document that can name a group, in the canonical form of the server. */
export type UsingDocument = {
  groups?: Readonly<Record<string, { groups?: readonly string[] }>> | undefined
  rules: readonly { id: string; from: Named; except?: Named | undefined }[]
}
type Named = { groups?: readonly string[] | undefined }

/** Rule that names a group, or a group of the document that contains it. */
export type GroupUse =
  | { kind: 'rule'; id: string; part: 'from' | 'except'; through: string | undefined }
  | { kind: 'group'; id: string }

/** Uses of each group, by its name in small letters or its id as the document has it. */
type Uses = ReadonlyMap<string, readonly GroupUse[]>

/**
 * Finds the groups that a policy document names: in rules, in its own groups, and in rules through these. A group of
 * the document hides a group of the tenant with the same name.
 */
export function usesIn({ groups: own = {}, rules }: UsingDocument): Uses {
  const uses = new Map<string, GroupUse[]>()
  const add = (name: string, use: GroupUse) => {
    const key = name.toLowerCase()
    uses.set(key, [...(uses.get(key) ?? []), use])
  }
  const isOwn = (name: string) => Object.hasOwn(own, name)
  const within = (name: string, seen = new Set<string>()): string[] => {
    if (!isOwn(name)) return [name]
    if (seen.has(name)) return []
    seen.add(name)
    return (own[name]?.groups ?? []).flatMap((inner) => within(inner, seen))
  }
  for (const { id, from, except } of rules)
    for (const [part, named] of [
      ['from', from],
      ['except', except],
    ] as const)
      for (const name of named?.groups ?? [])
        for (const group of new Set(within(name)))
          add(group, { kind: 'rule', id, part, through: isOwn(name) ? name : undefined })
  for (const [id, { groups = [] }] of Object.entries(own))
    for (const name of groups) if (!isOwn(name)) add(name, { kind: 'group', id })
  return uses
}

/** Uses of one group. */
export const usesOf = (uses: Uses, group: { group_id: string; name: string }): readonly GroupUse[] => [
  ...(uses.get(group.name.toLowerCase()) ?? []),
  ...(uses.get(group.group_id) ?? []),
]

/** True if a rule or a group of the document names the group itself. The server then refuses to delete the group. */
export const isDirect = (use: GroupUse): boolean => use.kind === 'group' || use.through === undefined
