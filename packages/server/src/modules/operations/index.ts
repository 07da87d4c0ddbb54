import type { OperationsDeps } from './deps.ts'
import { exportHandlers } from './export.handlers.ts'

/** What concerns the deployment as a whole, in the words of the modules that have it. */
export const createOperations = (deps: OperationsDeps) => ({ handlers: exportHandlers(deps) })
