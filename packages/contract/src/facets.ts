import { Type } from 'typebox'
import { deviceFilters } from './devices.ts'
import { endpoint } from './endpoint.ts'
import { Closed, Nullable, Time, Total } from './schema.ts'
import { userFilters } from './users.ts'

/** Most values of a facet, those with the highest counts. */
export const mostFacetValues = 50

const Facet = Type.Array(
  Closed(
    {
      value: Type.String({ description: 'Value for the filter of the same name; empty text: unknown' }),
      name: Nullable(Type.String({ description: 'Name of the object whose id is the value; null for other values' })),
      count: Type.Integer({ minimum: 0 }),
    },
    { title: 'FacetValue' },
  ),
  { description: `The values by count, the highest first; at most ${mostFacetValues}` },
)
const facetsOf = <const N extends readonly string[]>(names: N) =>
  Closed(Object.fromEntries(names.map((name) => [name, Facet])) as { [K in N[number]]: typeof Facet })
const common = {
  total: Total,
  counted_at: Time,
}

export const deviceFacets = [
  ...(['status', 'effective_status', 'presence', 'posture', 'platform', 'channel'] as const),
  ...(['client_version', 'os_version', 'tag', 'group_id'] as const),
] as const
export const userFacets = ['status', 'kind', 'source', 'mfa', 'locked', 'role', 'group_id'] as const

export const listDeviceFacets = endpoint({
  method: 'GET',
  path: '/v1/admin/devices/facets',
  costly: true,
  summary: 'Count devices by the values of each filter',
  description: 'The counts are of the devices that match the filter. They are estimates where `total` is one.',
  access: { by: ['session', 'api_key'], permission: 'devices:read' },
  errors: ['validation_error'],
  query: Closed(deviceFilters),
  response: Closed({ ...common, facets: facetsOf(deviceFacets) }, { title: 'DeviceFacets' }),
})

export const listUserFacets = endpoint({
  method: 'GET',
  path: '/v1/admin/users/facets',
  costly: true,
  summary: 'Count users by the values of each filter',
  description: 'The counts are of the users that match the filter. They are estimates where `total` is one.',
  access: { by: ['session', 'api_key'], permission: 'users:read' },
  query: Closed(userFilters),
  response: Closed({ ...common, facets: facetsOf(userFacets) }, { title: 'UserFacets' }),
})
