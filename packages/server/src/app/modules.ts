import { createDescription } from '../http/answer/description.ts'
import type { Handlers } from '../http/handlers.ts'
import { createInvoker } from '../http/invoke.ts'
import { createOperations } from '../modules/operations/index.ts'
import type { Base, CompleteDeps } from './base.ts'
import { createFoundation, type FoundationModules, type LaterModules } from './foundation.ts'
import { createNetworkModules, type NetworkModules } from './network.ts'
import { createOperationModules, type OperationModules } from './operations.ts'
import { createPeopleModules, type PeopleModules } from './people.ts'

type MadeModules = FoundationModules & NetworkModules & PeopleModules & OperationModules

/** Creates every module once, in the order of their dependencies, and the handlers of all operations. */
export function createModules(base: Base, deps: CompleteDeps) {
  const laterModules = (): LaterModules => modules
  const foundation = createFoundation(base, deps, laterModules)
  const network = createNetworkModules(base, deps, foundation)
  const people = createPeopleModules(base, deps, { ...foundation, ...network }, laterModules)
  const perform = (): ReturnType<typeof createInvoker> => invoker
  const operation = createOperationModules(base, deps, { ...foundation, ...network, ...people }, perform)
  const modules = { ...foundation, ...network, ...people, ...operation }
  const handlers = handlersOf(modules, base.now)
  const invoker = createInvoker(handlers)
  return { ...modules, handlers }
}
export type Modules = ReturnType<typeof createModules>

/** The handlers of all operations. The export of a tenant's data calls those of reads. */
function handlersOf(m: MadeModules, now: () => Date): Handlers {
  const reads = {
    ...createDescription().handlers,
    ...m.health.handlers,
    ...m.masterKeys.handlers,
    ...m.audit.handlers,
    ...m.compliance.handlers,
    ...m.tenancy.handlers,
    ...m.access.handlers,
    ...m.identity.handlers,
    ...m.federation.handlers,
    ...m.notifications.handlers,
    ...m.trust.handlers,
    ...m.certificates.handlers,
    ...m.policy.handlers,
    ...m.gateways.handlers,
    ...m.devices.handlers,
    ...m.enrollment.handlers,
    ...m.directory.handlers,
    ...m.expiry.handlers,
    ...m.dashboard.handlers,
    ...m.updates.handlers,
    ...m.siem.handlers,
    ...m.locks.handlers,
    ...m.workflows.handlers,
    ...m.stream.handlers,
    ...m.search.handlers,
    ...m.views.handlers,
  }
  return { ...reads, ...createOperations({ reads, now }).handlers }
}
