import { createSearching, type SearchingDeps } from '../modules/search/index.ts'
import { createSavedViews, type ViewsDeps } from '../modules/views/index.ts'

/** Endpoints for the console: a search over the lists of all modules, and saved views. */
export function createConsole(deps: SearchingDeps & ViewsDeps) {
  const views = createSavedViews(deps)
  return { handlers: { ...createSearching(deps).handlers, ...views.handlers }, prunes: views.prunes }
}
