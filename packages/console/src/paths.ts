/**
 * Paths of all views of the console. The build writes them into `routes.json`: the server answers these paths with the
 * page of the console, and all others with 404. `$name` stands for one segment.
 */
export const paths = [
  '/admin',
  '/admin/alerts',
  '/admin/start',
  '/admin/devices',
  '/admin/devices/$device_id',
  '/admin/sessions',
  '/admin/enrollment',
  '/admin/enrollment/new',
  '/admin/posture',
  '/admin/updates',
  '/admin/me',
] as const
export type Path = (typeof paths)[number]
