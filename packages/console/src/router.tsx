import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
} from '@tanstack/react-router'
import { features } from './features.ts'
import { NotFoundPage } from './shell/not-found-page.tsx'
import { PageFailure } from './shell/page-failure.tsx'
import { Shell } from './shell/shell.tsx'

/** The search of an address: texts, as `URLSearchParams` has them. */
export type Search = Record<string, string>

const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: NotFoundPage,
  validateSearch: (search: Search): Search => search,
  // Whose fleet is shown, and in which time zone, goes with every link.
  search: { middlewares: [retainSearchParams(['tenant', 'tz'])] },
})

const pages = features.flatMap(({ path, page, below = [] }) => [{ path, page }, ...below])
const routes = pages.map(({ path, page }) =>
  createRoute({ getParentRoute: () => rootRoute, path, component: lazyRouteComponent(page, 'Page') }),
)

export const router = createRouter({
  routeTree: rootRoute.addChildren(routes),
  defaultErrorComponent: PageFailure as never,
  scrollRestoration: true,
  parseSearch: (text): Search => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
    return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
  },
})
