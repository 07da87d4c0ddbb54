import type { Database } from '../../db/database.ts'
import type { HeldSource, SessionSource, StoredSource } from '../../kernel/search.ts'
import { pageSource } from './pages.ts'
import { searchHandlers } from './search.handlers.ts'
import { createSearch } from './search.ts'

export type SearchingDeps = {
  db: Database
  feed: { catchUp: () => Promise<unknown> }
  gateways: { searchHits: readonly HeldSource[]; sessionHits: SessionSource }
  policy: { searchHits: { versions: StoredSource; resources: HeldSource } }
  identity: { searchHits: readonly StoredSource[] }
} & Record<'devices' | 'enrollment' | 'access', { searchHits: StoredSource }>

/** One search over all kinds, in the words of the modules that have them. */
export function createSearching({ db, feed, devices, identity, enrollment, access, policy, gateways }: SearchingDeps) {
  const { versions, resources } = policy.searchHits
  const search = createSearch({
    db,
    feed,
    stored: [devices.searchHits, ...identity.searchHits, enrollment.searchHits, access.searchHits, versions],
    held: [...gateways.searchHits, resources, pageSource],
    sessions: gateways.sessionHits,
  })
  return { handlers: searchHandlers({ search }) }
}
