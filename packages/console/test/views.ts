import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import type { Who } from './fleet.ts'

/** One thing to look at: a page, or something open above it. */
export type View = {
  /** The name of its screenshots. */
  name: string
  /** With `$device_id` and its like for an object of the fleet. */
  path: string
  /** Who has signed in; nobody unless said. */
  as?: Who
  /** The status of the page; 200 unless said. */
  status?: number
  /** Brings the page into the state that is meant. */
  open?: (page: Page) => Promise<void>
}

/** Pages that the server renders, which need no JavaScript. */
const serverPages: readonly View[] = [
  { name: 'sign-in', path: '/admin/login' },
  {
    name: 'sign-in-failed',
    path: '/admin/login',
    open: async (page) => {
      await page.getByLabel('Username').fill('nobody')
      await page.getByLabel('Password').fill('not the password')
      await page.getByRole('button', { name: 'Sign in', exact: true }).click()
      await page.getByRole('alert').waitFor()
    },
  },
  { name: 'password', path: '/admin/password', as: 'viewer' },
  { name: 'second-factor', path: '/admin/second-factor', as: 'viewer' },
  { name: 'unknown-page', path: '/admin/no-such-page', as: 'viewer', status: 404 },
]

/**
 * The console's own list of its views, which grows by itself. It is loaded without waiting: a test that is registered
 * after an `await` counts as one of the file that is loaded meanwhile.
 */
function consoleViews(): View[] {
  const file = fileURLToPath(new URL('../src/paths.ts', import.meta.url))
  if (!existsSync(file)) return []
  const { paths } = createRequire(import.meta.url)(file) as { paths: readonly string[] }
  return paths.map((path) => ({ name: nameOf(path), path, as: 'admin' }))
}

const nameOf = (path: string): string => path.slice(1).replaceAll('/', '-').replaceAll('$', '')

/** What is opened above a view, and other states that a path alone does not bring about. */
export const overlays: readonly View[] = [
  {
    name: 'sign-in-other-tenant',
    path: '/admin/login',
    open: (page) => page.getByText('Sign in to another tenant').click(),
  },
]

export const views: readonly View[] = [...serverPages, ...consoleViews()]
