import { syslogOriginOf } from '../formats/syslog.ts'
import { exportHandlers } from './export.handlers.ts'
import { createExports, type ExportsDeps } from './export.ts'

export type ExportDeps = ExportsDeps & { publicUrl: string; oidArc: string }

/** Exports of the audit log as files, with their manifests. */
export function createExport(deps: ExportDeps) {
  const exports = createExports(deps)
  const { letGo, ended } = exports
  return { handlers: exportHandlers({ ...deps, exports, syslogOrigin: syslogOriginOf(deps) }), letGo, ended }
}
