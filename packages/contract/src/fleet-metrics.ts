import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Platform } from './enrollment.ts'
import { Closed, Count, Nullable, Time } from './schema.ts'

/** Most client versions and operating system versions listed; the others are counted together. */
export const listedVersions = 50

const version = Nullable(Type.String({ description: 'Client version; null: the device has reported none' }))
const byPlatform = Type.Array(Closed({ platform: Platform, devices: Count }))
const byClient = Type.Array(Closed({ client_version: version, devices: Count }), {
  description: 'Versions of most devices first; at most 50',
})

export const readFleetMetrics = endpoint({
  method: 'GET',
  path: '/v1/admin/metrics/fleet',
  costly: true,
  summary: 'Count devices by platform and version',
  description:
    'The counts are of devices that are not revoked, by platform, client version and operating system. They are counted now and once a day (UTC).',
  access: { by: ['session', 'api_key'], permission: 'operations:read' },
  query: Closed({
    days: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 30,
        description: 'Number of days of the history. 0: only the current counts. Default: 30',
      }),
    ),
  }),
  response: Closed(
    {
      at: Type.String({
        format: 'date-time',
        description: 'Time at which the devices were counted, at most a minute ago',
      }),
      devices: Count,
      platforms: byPlatform,
      client_versions: byClient,
      other_client_versions: Type.Integer({ minimum: 0, description: 'Devices with a version that is not listed' }),
      os_versions: Type.Array(Closed({ platform: Platform, os_version: version, devices: Count }), {
        description: 'Versions of most devices first; at most 50',
      }),
      other_os_versions: Type.Integer({ minimum: 0, description: 'Devices with a version that is not listed' }),
      days: Type.Array(
        Closed(
          { at: Time, devices: Count, platforms: byPlatform, client_versions: byClient, other_client_versions: Count },
          { title: 'FleetDay' },
        ),
        { description: 'Days with a sample, oldest first' },
      ),
    },
    { title: 'FleetMetrics' },
  ),
})
