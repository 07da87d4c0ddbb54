import { type Static, Type } from 'typebox'
import { Closed, Nullable } from './schema.ts'

const limit = (description: string) =>
  Type.Optional(Nullable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description })))

/** Limits by metric. Null or absent means no limit. */
export const Limits = Closed(
  {
    users: limit('Users that are neither suspended nor deleted, service accounts too'),
    devices: limit('Devices that are active or wait for approval'),
    gateways: limit('Gateways that are registered'),
    sessions: limit('Concurrent VPN sessions; one that exceeds the limit is ended'),
    api_keys: limit('API keys that are neither revoked nor expired'),
    bandwidth_gb_month: limit('Gigabytes (10^9 bytes) carried in a calendar month, UTC; alerts only, nothing is cut'),
  },
  { title: 'Limits' },
)
export type Limits = Static<typeof Limits>
