import type { Noun } from '@holdfast/contract/vocabulary'
import type { Page } from 'playwright-core'
import { type Path, paths } from '../src/paths.ts'
import type { Who } from './fleet.ts'
import type { Width } from './page.ts'

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
  /** The only width at which there is such a thing; all unless said. */
  width?: Width
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

/** How the states of a view are brought about. */
export type Traits = {
  /** It is a list, and these are the words for many of its objects, as in `No devices match`. */
  list?: string
  /** The kind of its objects, as their ids have it. */
  noun?: Noun
  /** A filter that lets none of them pass; a text that no name has unless said. */
  filter?: string
  /** What it says while there is none of them; `No … yet` unless said. */
  quiet?: RegExp
  /** The view shows one object, or makes one: a tenant in which there is nothing has no state of its own for it. */
  isAlwaysFilled?: true
}

/** Every view of the console. The compiler refuses a path without an entry, and the walk does too. */
export const traits: Readonly<Record<Path, Traits>> = {
  '/admin': {},
  '/admin/alerts': { list: 'alerts', noun: 'notification', filter: 'severity=critical', quiet: /No alert is open/ },
  '/admin/start': {},
  '/admin/devices': { list: 'devices', noun: 'device' },
  '/admin/devices/$device_id': { isAlwaysFilled: true },
  '/admin/sessions': { list: 'sessions', noun: 'vpn_session', filter: 'state=ended', quiet: /No session runs/ },
  '/admin/enrollment': { list: 'tokens', noun: 'enrollment_token' },
  '/admin/enrollment/new': { isAlwaysFilled: true },
  '/admin/posture': {},
  '/admin/updates': { list: 'releases', noun: 'release', filter: 'status=draft' },
  '/admin/me': { isAlwaysFilled: true },
}

const nameOf = (path: string): string => path.slice(1).replaceAll('/', '-').replaceAll('$', '')

/** The console's own list of its views, which grows by itself. */
export const consoleViews: readonly View[] = paths.map((path) => ({ name: nameOf(path), path, as: 'admin' }))

export const views: readonly View[] = [...serverPages, ...consoleViews]
