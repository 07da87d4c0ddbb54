import { createSearching, type SearchingDeps } from './modules/search/index.ts'
import { createSavedViews, type ViewsDeps } from './modules/views/index.ts'

/** The console needs these beside the lists of the other modules: a search over all of them, and saved views. */
export function createConsole(deps: SearchingDeps & ViewsDeps) {
  const views = createSavedViews(deps)
  return { handlers: { ...createSearching(deps).handlers, ...views.handlers }, prunes: views.prunes }
}
