/**
 * Views of the console by path, each with the module that shows it, below `routes/`. `$name` stands for one segment.
 * The build writes them into `routes.json`: the server answers these paths with the page of the console and the files
 * of the view, and all other paths with 404.
 */
export const modules = {
  '/admin': 'home/page',
  '/admin/alerts': 'alerts/page',
  '/admin/start': 'start/page',
  '/admin/devices': 'devices/page',
  '/admin/devices/$device_id': 'device/page',
  '/admin/sessions': 'sessions/page',
  '/admin/enrollment': 'enrollment/page',
  '/admin/enrollment/new': 'enrollment/new-page',
  '/admin/posture': 'posture/page',
  '/admin/updates': 'updates/page',
  '/admin/me': 'me/page',
} as const
export type Path = keyof typeof modules
export const paths = Object.keys(modules) as readonly Path[]
