/**
 * The paths of all views. The build writes them down for the server, which answers another path below `/admin` with 404.
 * `$name` stands for one segment.
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
