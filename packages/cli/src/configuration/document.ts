import { contract } from '@holdfast/contract'
import { type TObject, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { parse } from 'yaml'
import { UsageError } from '../exit.ts'
import { plain } from '../text.ts'

const Closed = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })
/** Makes some fields of an operation's object optional, without read-only ones. */
const someOf = ({ properties }: TObject, ...not: string[]) =>
  Closed(
    Object.fromEntries(
      Object.entries(properties)
        .filter(([name, field]) => !not.includes(name) && !('readOnly' in field))
        .map(([name, field]) => [name, Type.Optional(field)]),
    ),
  )
const byName = (of: TSchema) => Type.Record(Type.String({ minLength: 1, maxLength: 256 }), of)

const { enrollment, security, notifications, pool, policy } = {
  enrollment: contract.updateEnrollmentSettings.body.properties,
  security: contract.updateSecuritySettings.body.properties,
  notifications: contract.updateNotificationSettings.body.properties,
  pool: contract.createGatewayPool.body,
  policy: contract.publishPolicy.body.properties.policy,
}

/** Schema of a configuration file. Omitted parts stay unchanged. */
const Document = Closed({
  format: Type.Literal('holdfast.config/1'),
  security: Type.Optional(
    Closed(
      Object.fromEntries(Object.entries(security).map(([name, section]) => [name, Type.Optional(someOf(section))])),
    ),
  ),
  enrollment: Type.Optional(
    Closed({
      install_templates: Type.Optional(someOf(enrollment.install_templates)),
      download_urls: Type.Optional(someOf(enrollment.download_urls)),
    }),
  ),
  notifications: Type.Optional(
    Closed({
      email: Type.Optional(someOf(notifications.email)),
      // The API never returns its URL, so a difference could not be detected.
      webhook: Type.Optional(someOf(notifications.webhook, 'url', 'rotate_secret')),
    }),
  ),
  groups: Type.Optional(
    byName(
      Closed({
        description: Type.Optional(Type.String({ maxLength: 1024 })),
        members: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { maxItems: 10_000 })),
      }),
    ),
  ),
  gateway_pools: Type.Optional(byName(someOf(pool, 'name'))),
  policy: Type.Optional(Closed({ stable: policy })),
})
/** In the form of the operations that apply it. */
export type ConfigDocument = {
  format: 'holdfast.config/1'
  security?: Record<string, Record<string, unknown>>
  enrollment?: Record<string, Record<string, unknown>>
  notifications?: Record<string, Record<string, unknown>>
  groups?: Record<string, { description?: string; members?: string[] }>
  gateway_pools?: Record<string, Record<string, unknown>>
  policy?: { stable: Record<string, unknown> }
}

type SchemaError = { instancePath: string; message: string; params?: { additionalProperties?: string[] } }
/** Limit of reported errors. */
const mostErrors = 20

/** Parses a file of YAML 1.2, or JSON, which is a part of YAML. An error names each wrong field. */
export function parseConfig(text: string, file: string): ConfigDocument {
  let value: unknown
  try {
    value = parse(text, { uniqueKeys: true, strict: true, maxAliasCount: 0, stringKeys: true })
  } catch (e) {
    throw new UsageError(`${plain(file)} is not YAML: ${plain((e as Error).message.split('\n')[0] ?? '')}`)
  }
  const checked = Compile(Document)
  if (checked.Check(value)) {
    refuseTwins(value as ConfigDocument, file)
    return value as ConfigDocument
  }
  const errors = (checked.Errors(value) as SchemaError[]).slice(0, mostErrors).map(sentenceOf)
  throw new UsageError(`${plain(file)} has errors:\n  ${[...new Set(errors)].map(plain).join('\n  ')}`)
}

function sentenceOf({ instancePath, message, params }: SchemaError): string {
  const path = instancePath.slice(1).replaceAll('/', '.') || 'the file'
  const unknown = params?.additionalProperties
  return unknown ? `${path}: does not have ${unknown.join(', ')}` : `${path}: ${message}`
}

/** Refuses names that differ only in case, since the server treats them as equal. */
function refuseTwins({ groups = {}, gateway_pools: pools = {} }: ConfigDocument, file: string): void {
  for (const names of [Object.keys(groups), Object.keys(pools)]) {
    const twin = names.find((name, i) => names.findIndex((n) => n.toLowerCase() === name.toLowerCase()) < i)
    if (twin !== undefined) throw new UsageError(`${plain(file)} names ${plain(twin)} twice.`)
  }
}
