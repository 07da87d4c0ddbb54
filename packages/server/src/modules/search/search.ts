import { type SearchKind, searchKinds } from '@holdfast/contract/vocabulary'
import type { Database, Tx } from '../../db/database.ts'
import type { HeldSource, Match, Rank, SearchHit, SessionSource, StoredSource } from '../../db/search.ts'
import { type Actor, permissionsOf } from '../../kernel/actor.ts'
import { decodeId } from '../../kernel/ids.ts'
import { readPermissions } from './permissions.ts'
import { findWords } from './words.queries.ts'

type SearchDeps = {
  db: Database
  feed: { catchUp: () => Promise<unknown> }
  stored: readonly StoredSource[]
  held: readonly HeldSource[]
  sessions: SessionSource
}
/** Hits of a kind, the best first. One more hit than requested means that there are more. */
type Hits = { kind: SearchKind; matches: Match[] }
type Ranks = Map<string, Rank>

/** VPN sessions are searched among those of at most this many matching devices, and as many matching users. */
const mostSubjects = 200

export function createSearch({ db, feed, stored, held, sessions }: SearchDeps) {
  /** Returns the matching ids of each kind, the best first, each once. */
  async function ranksOf(tx: Tx, actor: Actor, sources: readonly StoredSource[], text: string, most: number) {
    const kinds = sources.map((s) => s.kind)
    const ranks = new Map<string, Ranks>(kinds.map((kind) => [kind, new Map()]))
    const note = (kind: string, id: string, rank: Rank) => {
      const known = ranks.get(kind)?.get(id)
      if (known === undefined || rank < known) ranks.get(kind)?.set(id, rank)
    }
    for (const { kind, noun, findIds } of sources) {
      const id = decodeId(noun, text)
      if (id !== undefined) note(kind, id, 0)
      for (const found of (await findIds?.(tx, actor, text, most)) ?? []) note(kind, found, 0)
    }
    for (const hit of await findWords(tx, actor.tenantId, kinds, text, most))
      note(hit.kind, hit.subject_id, hit.is_exact ? 0 : hit.place === 0 ? 1 : 2)
    return ranks
  }

  async function hitsOf(tx: Tx, actor: Actor, { kind, find }: StoredSource, ranks: Ranks, most: number): Promise<Hits> {
    // The sort is stable: equal ranks keep the order of the index.
    const best = [...ranks].sort(([, a], [, b]) => a - b).slice(0, most)
    if (best.length === 0) return { kind, matches: [] }
    const ids = best.map(([id]) => id)
    const found = new Map((await find(tx, actor, ids)).map((f): [string, SearchHit] => [f.id, f]))
    const matches = best.flatMap(([id, rank]): Match[] => {
      const hit = found.get(id)
      return hit ? [{ ...hit, rank }] : []
    })
    return { kind, matches }
  }

  async function sessionsOf(
    tx: Tx,
    actor: Actor,
    ranks: { device: Ranks; user: Ranks },
    text: string,
    most: number,
  ): Promise<Hits> {
    const ids = (of: Ranks) => [...of.keys()].slice(0, mostSubjects)
    const sessionId = decodeId('vpn_session', text)
    const of = { sessionId, deviceIds: ids(ranks.device), userIds: ids(ranks.user) }
    const found = new Map<string, Match>()
    for (const s of await sessions.findOf(tx, actor, of, most)) {
      const { deviceId, userId, ...hit } = s
      const named = [ranks.device.get(deviceId), ranks.user.get(userId ?? '')].filter((rank) => rank !== undefined)
      const rank = hit.id === sessionId ? 0 : (Math.min(...named, 2) as Rank)
      found.set(hit.id, { ...hit, rank })
    }
    const matches = [...found.values()].sort((a, b) => a.rank - b.rank).slice(0, most)
    return { kind: 'vpn_session', matches }
  }

  return async (
    actor: Actor,
    { text, limit, kinds }: { text: string; limit: number; kinds: readonly SearchKind[] | undefined },
  ): Promise<{ searched: SearchKind[]; hits: Hits[] }> => {
    const permissions = permissionsOf(actor)
    const mayRead = (kind: SearchKind) => {
      const permission = readPermissions[kind]
      return permission === undefined || permissions.has(permission)
    }
    const searched = searchKinds.filter((kind) => (kinds?.includes(kind) ?? true) && mayRead(kind))
    const isSearched = (source: { kind: SearchKind }) => searched.includes(source.kind)
    const most = limit + 1
    // Also finds a gateway that another replica has just registered.
    if (held.some(isSearched)) await feed.catchUp()
    const inMemory = await Promise.all(
      held.filter(isSearched).map(async ({ kind, match }) => ({ kind, matches: await match(actor, text, most) })),
    )
    const withSessions = searched.includes('vpn_session')
    const namesSessions = ({ kind }: StoredSource) => (kind === 'device' || kind === 'user') && mayRead(kind)
    const sources = stored.filter((s) => isSearched(s) || (withSessions && namesSessions(s)))
    const inDatabase =
      sources.length === 0 && !withSessions
        ? []
        : await db.inTenant(actor.tenantId, async (tx) => {
            // A name has several words, so there are more entries than objects.
            const ranks = await ranksOf(tx, actor, sources, text, withSessions ? mostSubjects : 3 * most)
            const of = (kind: string): Ranks => ranks.get(kind) ?? new Map()
            const found: Hits[] = []
            for (const source of sources.filter(isSearched))
              found.push(await hitsOf(tx, actor, source, of(source.kind), most))
            if (withSessions)
              found.push(await sessionsOf(tx, actor, { device: of('device'), user: of('user') }, text, most))
            return found
          })
    return { searched, hits: [...inMemory, ...inDatabase] }
  }
}
export type Search = ReturnType<typeof createSearch>
