import type { Noun, SearchAction, SearchKind } from '@holdfast/contract/vocabulary'
import type { Actor } from '../kernel/actor.ts'
import type { Tx } from './database.ts'

/** One result of a search. `allows`: the actions that its state allows to any caller. */
export type SearchHit = {
  /** UUID. A kind without one uses the id that the contract describes for it. */
  id: string
  name: string
  detail: string | null
  status: string | null
  allows: readonly SearchAction[]
}
/** Rank of a match: equal to the name (0), prefix of the name (1), prefix of a later word (2). */
export type Rank = 0 | 1 | 2
export type Match = SearchHit & { rank: Rank }

/** A kind with its words in the database, in `search_words`. */
export type StoredSource = {
  kind: Exclude<SearchKind, 'vpn_session'>
  noun: Noun
  /** Returns the things with these ids. Deleted things are left out. */
  find: (tx: Tx, actor: Actor, ids: readonly string[]) => Promise<SearchHit[]>
  /** Returns ids that match the text in another way than by a word, at most `most`. */
  findIds?: (tx: Tx, actor: Actor, text: string, most: number) => Promise<string[]>
}
/** A kind that is held in memory. Returns at most `most`, the best first. */
export type HeldSource = {
  kind: SearchKind
  match: (actor: Actor, text: string, most: number) => Match[] | Promise<Match[]>
}
/** VPN sessions have no name. They are found by device and by user. */
export type SessionSource = {
  findOf: (
    tx: Tx,
    actor: Actor,
    of: { sessionId: string | undefined; deviceIds: readonly string[]; userIds: readonly string[] },
    most: number,
  ) => Promise<(SearchHit & { deviceId: string; userId: string | null })[]>
}

const separators = new Set(' -_.,:;/\\@+#&|()[]{}<>\'"')

/**
 * Returns the best rank of a text among these names; undefined if none matches. Same rules as `search_entries` in the
 * database.
 */
export function rankOf(names: readonly (string | null)[], text: string): Rank | undefined {
  const searchText = text.toLowerCase()
  let best: Rank | undefined
  for (const given of names) {
    const name = (given ?? '').trim().toLowerCase()
    if (name === searchText) return 0
    if (name.startsWith(searchText)) best = 1
    else if (best === undefined && beginsLaterWord(name, searchText)) best = 2
  }
  return best
}

function beginsLaterWord(name: string, searchText: string): boolean {
  for (let at = name.indexOf(searchText, 1); at > 0; at = name.indexOf(searchText, at + 1))
    if (separators.has(name[at - 1] ?? '')) return true
  return false
}

/** Sorts by rank, then by name. */
export const byRank = (a: Match, b: Match): number =>
  a.rank - b.rank || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)

/** Joins distinguishing details into one line; null without any. */
export const joinDetail = (...parts: readonly (string | null | undefined | false)[]): string | null =>
  parts.filter((part) => part).join(' · ') || null
