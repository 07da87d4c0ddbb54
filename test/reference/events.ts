import { type Endpoint, operations } from '@holdfast/contract'
import { type AuditKind, auditFieldTypes, auditKinds, fieldsOfKind } from '@holdfast/contract/audit-fields'
import { auditMeanings } from './audit-meanings.ts'
import { code, page, table } from './markdown.ts'

/** Returns the page of all kinds of audit events. */
export function eventsPage(): string {
  const areas = Map.groupBy(auditKinds, (kind) => kind.split('.')[0] ?? '')
  return page(
    'Audit events',
    'Read this page to filter the audit log by kind, or to write a rule for a SIEM.\n`holdfast audit list --kind login.failed` lists the events of one kind.',
    'Every event also has the common fields: sequence number, time, actor, target, origin, outcome and request id.\n' +
      'The table lists the further fields of each kind. A field with `?` may be absent. `holdfast audit list --json`\nprints all fields.',
    ...Array.from(
      areas,
      ([area, kinds]) => `## ${area}\n\n${table(['Kind', 'When', 'Fields', 'Operations'], kinds.map(rowOf))}`,
    ),
  )
}

const rowOf = (kind: AuditKind): string[] => [
  code(kind),
  auditMeanings[kind],
  fieldsOfKind(kind)
    .map(({ name, isOptional }) => `${code(isOptional ? `${name}?` : name)} ${types.get(name)?.type ?? ''}`)
    .join(', ') || 'none',
  (operations as readonly (readonly [string, Endpoint])[])
    .filter(([, e]) => e.audit === kind)
    .map(([name]) => code(name))
    .join(', ') || 'the server',
]
const types = auditFieldTypes()
