import type { Noun } from '@holdfast/contract/vocabulary'
import type { Page } from 'playwright-core'
import { type Path, paths } from '../src/paths.ts'
import type { Who } from './fleet.ts'
import type { Width } from './page.ts'

/** State to check: a page, or an overlay above it. */
export type View = {
  /** Name of its screenshots. */
  name: string
  /** Path; `$device_id` and similar stand for an object of the fleet. */
  path: string
  /** Signed-in user; default: none. */
  as?: Who
  /** Status of the page; default: 200. */
  status?: number
  /** Only width with this state; default: all. */
  width?: Width
  /** Brings the page into the state. */
  open?: (page: Page) => Promise<void>
}

/** Pages that the server renders, without JavaScript. */
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

/** Properties of a view that its states depend on. */
export type Traits = {
  /** Plural of its objects if it is a list, as in `No devices match`. */
  list?: string
  /** Kind of its objects, as in their ids. */
  noun?: Noun
  /** Filter without matches; default: a text that no name contains. */
  filter?: string
  /** Text of the view without objects; default: `No … yet`. */
  quiet?: RegExp
  /** True if the view shows or creates one object: it has no state of its own for an empty tenant. */
  isAlwaysFilled?: true
  /** Parameters that name the object which the view shows. */
  search?: string
}

/** Properties of every view of the console. The compiler and the walk reject a path without an entry. */
export const traits: Readonly<Record<Path, Traits>> = {
  '/admin': {},
  '/admin/alerts': { list: 'alerts', noun: 'notification', filter: 'severity=critical', quiet: /No alert is open/ },
  '/admin/start': {},
  '/admin/devices': { list: 'devices', noun: 'device' },
  '/admin/devices/$device_id': { isAlwaysFilled: true },
  '/admin/users': { list: 'users', noun: 'user', quiet: /newcomer/ },
  '/admin/users/$user_id': { isAlwaysFilled: true },
  '/admin/groups': { list: 'groups', noun: 'group' },
  '/admin/groups/$group_id': { isAlwaysFilled: true },
  '/admin/roles': {},
  '/admin/sessions': { list: 'sessions', noun: 'vpn_session', filter: 'state=ended', quiet: /No session runs/ },
  '/admin/enrollment': { list: 'tokens', noun: 'enrollment_token' },
  '/admin/enrollment/new': { isAlwaysFilled: true },
  '/admin/posture': {},
  '/admin/updates': { list: 'releases', noun: 'release', filter: 'status=draft' },
  '/admin/policy': {},
  '/admin/policy/edit': { isAlwaysFilled: true },
  '/admin/policy/review': { isAlwaysFilled: true, search: 'draft=$draft_id' },
  '/admin/policy/what-if': {},
  '/admin/policy/history': { list: 'versions', noun: 'policy_bundle', filter: 'channel=canary' },
  '/admin/policy/map': {},
  '/admin/policy/compare': {},
  '/admin/me': { isAlwaysFilled: true },
}

/** Path of a view with its parameters; both may have names of objects. */
export function addressOf(path: Path): string {
  const { search } = traits[path]
  return search === undefined ? path : `${path}?${search}`
}

const nameOf = (path: string): string => path.slice(1).replaceAll('/', '-').replaceAll('$', '')

/** Views of the console, from its own list of paths. */
export const consoleViews: readonly View[] = paths.map((path) => ({
  name: nameOf(path),
  path: addressOf(path),
  as: 'admin',
}))

export const views: readonly View[] = [...serverPages, ...consoleViews]
