import type { OperationsDeps } from './deps.ts'
import { exportHandlers } from './export.handlers.ts'

/** Operations on the deployment as a whole, built from those of other modules. */
export const createOperations = (deps: OperationsDeps) => ({ handlers: exportHandlers(deps) })
