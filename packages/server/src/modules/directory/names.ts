/** Somebody who has, or wants, a name that only one may have. */
export type Claim = {
  /** The name it has now; undefined where it has none. */
  has: string | undefined
  /** The name that its directory gives it; undefined where it keeps what it has. */
  wants: string | undefined
  /** The name to take where somebody else wants the one it has; undefined where it makes no room. */
  instead?: string | null
}

/** Names are one however they are written. */
const keyOf = (name: string) => name.toLowerCase()

/**
 * Who has which name in the end; undefined: none. `taken` by those who are no part of this. Of several who want one the
 * first gets it. Whoever can not get what it wants keeps what it has, also against others who want that.
 */
export function allotNames(
  claims: readonly Claim[],
  taken: ReadonlySet<string>,
): { names: (string | null | undefined)[]; refused: ReadonlySet<number> } {
  const isTaken = new Set(Array.from(taken, keyOf))
  const wanters = new Map<string, number>()
  const refused = new Set<number>()
  const keepers: number[] = []
  for (const [i, { has, wants, instead }] of claims.entries()) {
    if (wants === undefined) {
      if (has !== undefined && instead === undefined) keepers.push(i)
    } else if (isTaken.has(keyOf(wants)) || wanters.has(keyOf(wants))) {
      refused.add(i)
      keepers.push(i)
    } else wanters.set(keyOf(wants), i)
  }
  for (const i of keepers) {
    const { has } = claims[i]!
    const other = has === undefined ? undefined : wanters.get(keyOf(has))
    if (other === undefined || other === i || refused.has(other)) continue
    refused.add(other)
    keepers.push(other)
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
