import type { Contract, Given } from '@holdfast/contract'
import type { Handlers } from '../../../http/handlers.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { fail } from '../../../kernel/app-error.ts'
import { Streamed } from '../../../kernel/results.ts'
import { filterOf } from '../events/filter.ts'
import { type SyslogOrigin, syslogOriginOf } from '../formats/syslog.ts'
import { type AuditExports, createAuditExports, type ExportsDeps } from './export.ts'
import { type Layout, layouts, syslogLayout } from './layouts.ts'

export type ExportDeps = ExportsDeps & { publicUrl: string; oidArc: string }

/** Exports of the audit log as files, with their manifests. */
export function createExport(deps: ExportDeps) {
  const exports = createAuditExports(deps)
  const { letGo, ended } = exports
  return { handlers: auditExportHandlers({ ...deps, exports, syslogOrigin: syslogOriginOf(deps) }), letGo, ended }
}

type Asked = Omit<Given<Contract['exportAudit']>['query'], 'format'>
type Deps = { exports: AuditExports; now: () => Date; syslogOrigin: SyslogOrigin }

function auditExportHandlers({ exports, now, syslogOrigin }: Deps) {
  const streamed = (actor: Actor, format: 'csv' | 'json' | 'ndjson' | 'syslog', layout: Layout, exportQuery: Asked) => {
    const filter = filterOf(exportQuery)
    const filename = `audit-${now()
      .toISOString()
      .replaceAll(/\.\d+|[-:]/g, '')}.${layout.extension}`
    return new Streamed({ type: layout.type, filename }, (ended, stands) =>
      exports.begin(actor, { format, filter: exportQuery }, filter, layout, { ended, stands }),
    )
  }
  return {
    exportAudit: ({ actor, query: { format = 'json', ...asked } }) => streamed(actor, format, layouts[format], asked),
    exportAuditSyslog: ({ actor, query: { framing = 'newline', ...asked } }) =>
      streamed(actor, 'syslog', syslogLayout(syslogOrigin, framing), asked),
    getAuditExportManifest: ({ actor, query: { sha256, format, ...filter } }) => {
      if (format === undefined && Object.keys(filter).length > 0)
        fail('bad_request', 'format: is required if filters are given')
      return exports.manifest(actor, sha256, format && { format, filter })
    },
  } satisfies Partial<Handlers>
}
