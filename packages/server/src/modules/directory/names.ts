/** An entry that has or wants a name which must be unique. */
export type NameClaim = {
  /** The current name; undefined if it has none. */
  has: string | undefined
  /** The name from its directory; undefined to keep the current one. */
  wants: string | undefined
  /** The name to take if another entry gets the current one; undefined if the entry does not give up its name. */
  instead?: string | null
}

/** Names are compared without regard to case. */
const keyOf = (name: string) => name.toLowerCase()

/**
 * Assigns the names; undefined: none. `taken`: names of entries outside this list. The first of several entries that
 * want a name gets it. An entry whose wish is refused keeps its current name, even if another entry wants that.
 */
export function assignNames(
  claims: readonly NameClaim[],
  taken: ReadonlySet<string>,
): { names: (string | null | undefined)[]; refused: ReadonlySet<number> } {
  const isTaken = new Set(Array.from(taken, keyOf))
  const wanters = new Map<string, number>()
  const refused = new Set<number>()
  const keptIndexes: number[] = []
  for (const [i, { has, wants, instead }] of claims.entries()) {
    if (wants === undefined) {
      if (has !== undefined && instead === undefined) keptIndexes.push(i)
    } else if (isTaken.has(keyOf(wants)) || wanters.has(keyOf(wants))) {
      refused.add(i)
      keptIndexes.push(i)
    } else wanters.set(keyOf(wants), i)
  }
  for (const i of keptIndexes) {
    const { has } = claims[i]!
    const other = has === undefined ? undefined : wanters.get(keyOf(has))
    if (other === undefined || other === i || refused.has(other)) continue
    refused.add(other)
    keptIndexes.push(other)
  }
  const isGiven = (name: string) => {
    const other = wanters.get(keyOf(name))
    return other !== undefined && !refused.has(other)
  }
  const names = claims.map(({ has, wants, instead }, i) => {
    if (wants !== undefined && !refused.has(i)) return wants
    return has !== undefined && instead !== undefined && isGiven(has) ? instead : has
  })
  return { names, refused }
}
