import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
} from '@tanstack/react-router'
import type { ComponentType } from 'react'
import { parseSearch, type Search } from './navigation.ts'
import { paths, views } from './paths.ts'
import { NotFoundPage } from './shell/not-found-page.tsx'
import { PageFailure } from './shell/page-failure.tsx'
import { Shell } from './shell/shell.tsx'

const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: NotFoundPage,
  validateSearch: (search: Search): Search => search,
  // Every link keeps the tenant and the time zone.
  search: { middlewares: [retainSearchParams(['tenant', 'tz'])] },
})

const pages = import.meta.glob<{ Page: ComponentType }>('./routes/*/*page.tsx')
const routes = paths.map((path) =>
  createRoute({
    getParentRoute: () => rootRoute,
    path,
    component: lazyRouteComponent(pages[`./routes/${views[path].module}.tsx`]!, 'Page'),
  }),
)

export const router = createRouter({
  routeTree: rootRoute.addChildren(routes),
  defaultErrorComponent: ({ error }) => <PageFailure error={error as Error} />,
  scrollRestoration: true,
  parseSearch,
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => value !== undefined && value !== '')
    return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
  },
})
