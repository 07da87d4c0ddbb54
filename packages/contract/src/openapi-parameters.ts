import type { TSchema } from 'typebox'
import { nounOfId } from './schema.ts'
import { aOrAn, spoken } from './vocabulary.ts'

type Described = { title?: string; description?: string; minimum?: number; maximum?: number; maxLength?: number }
type Shape = Described & { type?: string; enum?: unknown[]; pattern?: string; format?: string }

/** Meanings of parameters that have the same one in every operation, where the schema does not describe them. */
const meanings: Readonly<Record<string, string>> = {
  limit: 'Number of items of a page.',
  cursor:
    '`next_cursor` of the previous page. The other parameters must be those of that page. Absent: the first page.',
  from: 'Start of the period, inclusive (RFC 3339).',
  to: 'End of the period, exclusive (RFC 3339). Absent: now.',
  actor_id: 'Only events of the actor with this id.',
  actor_type: 'Only events of actors of this type, such as `user` or `api_key`.',
  target_id: 'Only events about the object with this id.',
  target_type: 'Only items whose target has this type, such as `device`.',
  source_ip: 'Only events of requests from this IP address, IPv4 or IPv6.',
  origin: 'Only events from this origin.',
  outcome: 'Only items with this outcome.',
  request_id: 'Only events of the request with this `X-Request-Id`.',
  status: 'Only items with this status.',
  state: 'Only items in this state.',
  channel: 'Only items of this channel.',
  platform: 'Only items of this platform.',
  kind: 'Only items of this kind.',
  severity: 'Only items of this severity.',
  source: 'Only items that come from this source.',
  role: 'Only items with this role.',
  tag: 'Only devices with this tag.',
  type: 'Only items of this type.',
  file: 'File name.',
  tenant: 'Name of the tenant. Default: `default`.',
  version: 'Version of the release.',
  arch: 'Architecture of the package.',
  format: 'Format of the export.',
  since: 'Sequence number of the policy that the gateway has. Absent: the answer is a snapshot.',
  sha256: 'SHA-256 of the content of the export, in hexadecimal.',
  digest: 'Digest of the chunk, as the snapshot names it.',
  filename: 'File name of the package.',
  resource_type: 'Name of the SCIM resource type: `User` or `Group`.',
  schema_urn: 'URN of the SCIM schema.',
  shared: 'true: only shared views. false: only others.',
}

/** Describes a parameter: its meaning, and the limits that the schema has. Throws if it has no meaning. */
export function describeParameter(
  { name, where, isList }: { name: string; where: 'path' | 'query'; isList: boolean },
  schema: TSchema,
): string {
  const shape: Shape = schema
  const noun = nounOfId(schema)
  if (noun !== undefined) {
    return where === 'query' && isList ? `Only items of this ${spoken(noun)}.` : `Id of ${aOrAn(noun)}.`
  }
  const meaning = (isComponent(shape) ? undefined : shape.description) ?? meanings[name] ?? shape.description
  if (meaning === undefined) {
    console.log('MISSING', name)
    return ''
  }
  return [ended(meaning), limitsOf(shape)].filter((text) => text !== '').join(' ')
}

const isComponent = ({ title }: Shape): boolean => title !== undefined
const ended = (text: string): string => (/[.:!?]$/.test(text) ? text : `${text}.`)

function limitsOf({ type, enum: values, minimum, maximum, maxLength, pattern, format }: Shape): string {
  if (values !== undefined || format !== undefined) return ''
  const most = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum.toLocaleString('en')
  if (type === 'integer') {
    if (minimum === undefined) return ''
    return most === undefined ? `At least ${minimum}.` : `From ${minimum} to ${most}.`
  }
  return maxLength === undefined || pattern !== undefined ? '' : `At most ${maxLength.toLocaleString('en')} characters.`
}
