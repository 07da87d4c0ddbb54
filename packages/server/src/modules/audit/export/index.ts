import { syslogOriginOf } from '../formats/syslog.ts'
import { auditExportHandlers } from './export.handlers.ts'
import { createAuditExports, type ExportsDeps } from './export.ts'

export type ExportDeps = ExportsDeps & { publicUrl: string; oidArc: string }

/** Exports of the audit log as files, with their manifests. */
export function createExport(deps: ExportDeps) {
  const exports = createAuditExports(deps)
  const { letGo, ended } = exports
  return { handlers: auditExportHandlers({ ...deps, exports, syslogOrigin: syslogOriginOf(deps) }), letGo, ended }
}
