import { AuditEvent } from '@holdfast/contract/audit'
import { auditKinds, fieldsOfKind } from '@holdfast/contract/audit-fields'
import { createSiemConnector } from '@holdfast/contract/siem'
import { type SiemConnectorKind, siemConnectorKinds } from '@holdfast/contract/vocabulary'
import type { TSchema } from 'typebox'
import { takesCredential } from '../credential.ts'
import { destinationFields, isSyslog } from '../destination.ts'

const dialect = 'https://json-schema.org/draft/2020-12/schema'
type Properties = Readonly<Record<string, unknown>>

/** Returns the schema of the body for each kind of connector: allowed and required fields. */
function connectorSchema(kind: SiemConnectorKind) {
  const { needs, takes, tls } = destinationFields[kind]
  const all: Properties = createSiemConnector.body.properties
  const names = [
    ...['name', 'format', 'enabled', ...needs, ...takes],
    ...(takesCredential(kind) ? ['credential'] : []),
    ...(isSyslog(kind) ? ['bom'] : []),
    ...(tls ? ['tls'] : []),
  ]
  // A webhook's secret is generated if it is absent, and syslog over TLS has a default port.
  const required = [
    ...['kind', 'name', 'format'],
    ...needs.filter((name) => !(kind === 'syslog_tls' && name === 'port')),
    ...(takesCredential(kind) && kind !== 'webhook' ? ['credential'] : []),
  ]
  return plain({
    $schema: dialect,
    title: `SIEM connector of kind ${kind}`,
    type: 'object',
    properties: { kind: { const: kind }, ...Object.fromEntries(names.map((name) => [name, all[name]])) },
    required,
    additionalProperties: false,
  })
}

/** Returns the schema of an event of one kind: the common fields, and its own. */
function eventSchema(kind: (typeof auditKinds)[number]) {
  const { properties, required = [] }: { properties: Properties; required?: readonly string[] } = AuditEvent
  const own = fieldsOfKind(kind)
  const common = Object.fromEntries(required.map((name) => [name, properties[name]]))
  return plain({
    $schema: dialect,
    title: `Audit event of kind ${kind}`,
    type: 'object',
    properties: {
      ...common,
      ...Object.fromEntries(own.map(({ name }) => [name, properties[name]])),
      kind: { const: kind },
      changes: properties.changes,
      details: properties.details,
    },
    required: [...required, ...own.flatMap(({ name, isOptional }) => (isOptional ? [] : [name]))],
    additionalProperties: false,
  })
}

/** Removes the symbols that only TypeBox uses. */
const plain = (schema: object): TSchema => JSON.parse(JSON.stringify(schema))

const made = {
  connectors: Object.fromEntries(siemConnectorKinds.map((kind) => [kind, connectorSchema(kind)])),
  events: Object.fromEntries(auditKinds.map((kind) => [kind, eventSchema(kind)])),
}
export const schemas = () => made
