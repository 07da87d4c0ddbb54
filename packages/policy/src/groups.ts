/** The groups of a document with their members. */
export type DocumentGroups = Readonly<
  Record<string, { readonly groups?: readonly string[]; readonly users?: readonly string[] }>
>

/** Returns the document groups that are direct members of a document group. */
export const childrenOf = (groups: DocumentGroups, name: string): string[] =>
  (groups[name]?.groups ?? []).filter((child) => Object.hasOwn(groups, child))

/** Returns every group after all groups that contain it. Groups on a cycle are left out. */
export function containersFirst(groups: DocumentGroups): string[] {
  const waiting = new Map(Object.keys(groups).map((name) => [name, 0]))
  for (const name of waiting.keys()) {
    for (const child of childrenOf(groups, name)) waiting.set(child, (waiting.get(child) ?? 0) + 1)
  }
  const order = [...waiting].filter(([, count]) => count === 0).map(([name]) => name)
  for (const name of order) {
    for (const child of childrenOf(groups, name)) {
      const left = (waiting.get(child) ?? 0) - 1
      waiting.set(child, left)
      if (left === 0) order.push(child)
    }
  }
  return order
}

/**
 * Finds groups that contain themselves, each cycle once. Not recursive, because a chain may be as long as the list of
 * groups.
 */
export function findCycles(groups: DocumentGroups): string[][] {
  const settled = new Set(containersFirst(groups))
  const cycles: string[][] = []
  for (const start of Object.keys(groups)) {
    const path: string[] = []
    let at: string | undefined = start
    while (at !== undefined && !settled.has(at)) {
      const seen = path.indexOf(at)
      if (seen >= 0) {
        cycles.push(path.slice(seen))
        break
      }
      path.push(at)
      at = childrenOf(groups, at).find((child) => !settled.has(child))
    }
    for (const name of path) settled.add(name)
  }
  return cycles
}
