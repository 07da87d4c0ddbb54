import { viewHandlers } from './views.handlers.ts'
import { pruneViews } from './views.queries.ts'
import { createViews, type ViewsDeps } from './views.ts'

/** Saved views: named filters of lists. */
export const createSavedViews = (deps: ViewsDeps) => ({
  handlers: viewHandlers({ views: createViews(deps) }),
  prunes: [pruneViews],
})
