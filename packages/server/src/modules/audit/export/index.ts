import { syslogOriginOf } from '../formats/syslog.ts'
import { exportHandlers } from './export.handlers.ts'
import { createExports, type ExportsDeps } from './export.ts'

export type ExportDeps = ExportsDeps & { publicUrl: string; oidArc: string }

/** The record as a file, and what proves it. */
export const createExport = (deps: ExportDeps) => ({
  handlers: exportHandlers({ ...deps, exports: createExports(deps), syslogOrigin: syslogOriginOf(deps) }),
})
