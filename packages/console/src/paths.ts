import type { Permission } from '@holdfast/contract/vocabulary'

/** A view: the module below `routes/` that shows it, and its first reads if the address has no parameters. */
type View = {
  module: string
  /** Permission to see the view, if its reads need another one. */
  permission?: Permission
  reads?: readonly string[]
}

const alerts = '/v1/admin/notifications?state=open&limit=50'
const overview = '/v1/admin/dashboard/overview'
const list = (path: string, sort: string, more = '') => `/v1/admin/${path}?${more}sort=${sort}&limit=100`
const versions = '/v1/admin/policy?'
const verdict = (posture: string) => `/v1/admin/devices/facets?effective_status=active&posture=${posture}`

/**
 * Views of the console by path. `$name` stands for one segment. The build writes them into `routes.json`: the server
 * answers these paths with the page of the console, and all other paths with 404. The page names the files and the
 * first reads of its view, so that the browser loads them beside the script and not after it.
 */
export const views = {
  '/admin': { module: 'home/page', reads: [alerts, overview, '/v1/admin/start', '/v1/admin/gateway/health?limit=200'] },
  '/admin/alerts': { module: 'alerts/page', reads: [alerts, overview] },
  '/admin/start': { module: 'start/page', reads: [alerts, overview, '/v1/admin/start'] },
  '/admin/devices': {
    module: 'devices/page',
    reads: [alerts, overview, list('devices', '-enrolled_at', 'count=estimate&'), '/v1/admin/devices/facets'],
  },
  '/admin/devices/$device_id': { module: 'device/page', reads: [alerts] },
  '/admin/users': {
    module: 'users/page',
    reads: [alerts, list('users', 'username', 'count=estimate&'), '/v1/admin/users/facets'],
  },
  '/admin/users/$user_id': { module: 'user/page', reads: [alerts] },
  '/admin/groups': { module: 'groups/page', reads: [alerts, list('groups', 'name')] },
  '/admin/groups/$group_id': { module: 'group/page', reads: [alerts] },
  '/admin/roles': { module: 'roles/page', permission: 'rbac:read', reads: [alerts, '/v1/admin/rbac/roles'] },
  '/admin/sessions': { module: 'sessions/page', reads: [alerts, overview, list('sessions', '-started_at')] },
  '/admin/enrollment': { module: 'enrollment/page', reads: [alerts] },
  '/admin/enrollment/new': { module: 'enrollment/new-page', reads: [alerts, overview] },
  '/admin/posture': {
    module: 'posture/page',
    permission: 'posture:read',
    reads: [
      alerts,
      verdict('compliant'),
      verdict('non_compliant'),
      verdict('unknown'),
      '/v1/admin/policy?channel=stable&limit=1',
      '/v1/admin/devices?effective_status=active&posture=non_compliant&sort=-last_seen_at&limit=10',
    ],
  },
  '/admin/updates': {
    module: 'updates/page',
    reads: [alerts, list('updates/releases', '-created_at'), '/v1/admin/metrics/fleet?days=30'],
  },
  '/admin/policy': {
    module: 'policy/page',
    reads: [alerts, `${versions}channel=stable&limit=2`, `${versions}channel=canary&limit=1`, `${versions}limit=8`],
  },
  '/admin/policy/edit': { module: 'editor/page', reads: [alerts] },
  '/admin/policy/review': { module: 'review/page', reads: [alerts] },
  '/admin/policy/what-if': { module: 'what-if/page', reads: [alerts, `${versions}limit=50`] },
  '/admin/policy/history': {
    module: 'history/page',
    reads: [alerts, list('policy', '-version'), `${versions}channel=stable&limit=2`],
  },
  '/admin/policy/map': { module: 'map/page', reads: [alerts, `${versions}limit=50`] },
  '/admin/policy/compare': { module: 'history/compare-page', reads: [alerts, `${versions}limit=100`] },
  '/admin/me': { module: 'me/page', reads: [alerts] },
} as const satisfies Readonly<Record<string, View>>
export type Path = keyof typeof views
export const paths = Object.keys(views) as readonly Path[]
