import type { OperationsDeps } from './deps.ts'
import { fleetExportHandlers } from './export.handlers.ts'

/** Operations on the deployment as a whole, built from those of other modules. */
export const createOperations = (deps: OperationsDeps) => ({ handlers: fleetExportHandlers(deps) })
