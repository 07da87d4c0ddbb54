import type { Database } from '../../db/database.ts'
import type { HeldSource, SessionSource, StoredSource } from '../../db/search.ts'
import { createPageSource } from './pages.ts'
import { searchHandlers } from './search.handlers.ts'
import { createSearch } from './search.ts'

type SearchingDeps = {
  db: Database
  feed: { catchUp: () => Promise<unknown> }
  gateways: { searchHits: readonly HeldSource[]; sessionHits: SessionSource }
  policy: { searchHits: { versions: StoredSource; resources: HeldSource } }
  identity: { searchHits: readonly StoredSource[] }
  /** Undefined if the console was not built: no page is found then. */
  consoleBuild: { views: ReadonlyMap<string, unknown> } | undefined
} & Record<'devices' | 'enrollment' | 'access', { searchHits: StoredSource }>

/** One search over all kinds. Each module provides the words of its own objects. */
export function createSearching({
  db,
  feed,
  devices,
  identity,
  enrollment,
  access,
  policy,
  gateways,
  consoleBuild,
}: SearchingDeps) {
  const { versions, resources } = policy.searchHits
  const search = createSearch({
    db,
    feed,
    stored: [devices.searchHits, ...identity.searchHits, enrollment.searchHits, access.searchHits, versions],
    held: [...gateways.searchHits, resources, createPageSource([...(consoleBuild?.views.keys() ?? [])])],
    sessions: gateways.sessionHits,
  })
  return { handlers: searchHandlers({ search }) }
}
