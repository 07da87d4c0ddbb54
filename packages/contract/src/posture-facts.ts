import { Type } from 'typebox'
import { Time } from './schema.ts'

const text = (maxLength: number, description: string) => Type.String({ maxLength, description })
const yes = (description: string) => Type.Boolean({ description })
const number = (description: string, maximum = 1_000_000) => Type.Number({ minimum: 0, maximum, description })
const list = (maxItems: number, maxLength: number, description: string) =>
  Type.Array(Type.String({ maxLength }), { maxItems, description })

/** Facts that a device can report, by name. A tenant's own facts begin with `custom.`. */
const named = {
  'os.type': text(32, 'linux, macos, windows, ios, android'),
  'os.family': text(64, 'Distribution or edition'),
  'os.version': text(64, 'Version as its maker writes it, such as `14.2`'),
  'os.build': text(64, 'Build number'),
  'kernel.version': text(128, 'Version of the kernel'),
  'patch.level_date': Time,
  'client.version': text(64, 'Version of the client'),
  'client.auto_update': yes('True: the client updates itself'),
  'disk.encrypted': yes('True: the system disk is encrypted'),
  'firewall.enabled': yes('True: the firewall of the device is on'),
  'av.running': yes('True: a virus scanner runs'),
  'av.updated_at': Time,
  'edr.vendor': text(64, 'Maker of the endpoint detection'),
  'edr.running': yes('True: endpoint detection runs'),
  'edr.score': number('Score that endpoint detection gives the device'),
  'screen_lock.enabled': yes('True: the screen locks itself'),
  'screen_lock.seconds': number('Idle time before the screen locks, in seconds'),
  jailbroken: yes('True: protections of the maker are removed'),
  secure_boot: yes('True: only signed systems start'),
  'tpm.present': yes('True: the device has a security chip (TPM)'),
  'domain.joined': yes('True: the device is a member of a domain'),
  'domain.names': list(16, 255, 'Domains of which the device is a member'),
  'mdm.enrolled': yes('True: a device management (MDM) manages the device'),
  'mdm.compliant': yes('True: the device management (MDM) reports the device as compliant'),
  'mdm.last_sync_at': Time,
  'process.names': list(64, 128, 'Watched programs that run'),
  'network.local_cidrs': list(64, 64, 'Networks of its interfaces'),
  'geo.country': Type.String({ pattern: '^[A-Z]{2}$', description: 'Country code (ISO 3166-1)' }),
  uptime_seconds: number('Seconds since the start of the device', Number.MAX_SAFE_INTEGER),
}

export type FactType = 'text' | 'number' | 'boolean' | 'time' | 'list'
const typeOf = ({ type, format }: { type?: unknown; format?: unknown }): FactType => {
  if (format === 'date-time') return 'time'
  if (type === 'string') return 'text'
  return type === 'array' ? 'list' : type === 'boolean' ? 'boolean' : 'number'
}
/** Type of each fact. The types of a tenant's own facts are unknown. */
export const factTypes: ReadonlyMap<string, FactType> = new Map(
  Object.entries(named).map(([name, schema]) => [name, typeOf(schema)]),
)
/** Prefix of a tenant's own facts. */
export const ownFacts = 'custom.'

const own = Type.Union([
  Type.Boolean(),
  Type.Number(),
  Type.String({ maxLength: 256 }),
  Type.Array(Type.String({ maxLength: 128 }), { maxItems: 16 }),
])

export const PostureFacts = Type.Unsafe<Record<string, boolean | number | string | string[]>>({
  title: 'PostureFacts',
  description: 'Named facts; a fact that is not reported never passes a check',
  type: 'object',
  properties: named,
  patternProperties: { '^custom\\.[a-z0-9][a-z0-9_.]{0,56}$': own },
  additionalProperties: false,
  maxProperties: 96,
})
