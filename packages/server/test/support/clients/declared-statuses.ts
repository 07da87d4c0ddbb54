import assert from 'node:assert/strict'
import { type Endpoint, operations } from '@holdfast/contract'
import { statusesOf } from '@holdfast/contract/openapi-operation'
import { Agent, type Dispatcher } from 'undici'

const routes = operations.map(([name, e]: readonly [string, Endpoint]) => ({
  name,
  method: e.method,
  template: e.path as string,
  path: new RegExp(`^${e.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  statuses: new Set(statusesOf(e)),
}))

const fixed = new Set(routes.map(({ template }) => template).filter((template) => !template.includes('{')))

/** Checks the status of each answer against the contract. */
export type StatusCheck = {
  note: (method: string, path: string, status: number) => void
  /** Throws if an operation answered a status that the contract does not declare. */
  assertDeclared: () => void
}

export function watchStatuses(): StatusCheck {
  const undeclared = new Set<string>()
  return {
    note: (method, path, status) => {
      const asked = method === 'HEAD' ? 'GET' : method
      const [plain = ''] = path.split('?', 1)
      // A fixed path precedes one with parameters, for any method.
      const isFixed = fixed.has(plain)
      const matching = routes.filter(
        (route) => route.method === asked && (isFixed ? route.template === plain : route.path.test(plain)),
      )
      if (matching.length > 0 && !matching.some(({ statuses }) => statuses.has(status)))
        undeclared.add(`${matching[0]!.name} answered ${status}`)
    },
    assertDeclared: () =>
      assert.deepEqual([...undeclared], [], 'an operation answered a status that its description lacks: see `errors`'),
  }
}

/** An agent whose answers pass the check. */
export function agentWith(statuses: StatusCheck | undefined, options: Agent.Options): Agent {
  return statuses ? new CheckedAgent(statuses, options) : new Agent(options)
}

class CheckedAgent extends Agent {
  readonly #statuses: StatusCheck
  constructor(statuses: StatusCheck, options: Agent.Options) {
    super(options)
    this.#statuses = statuses
  }
  override dispatch(options: Agent.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const start = handler.onResponseStart
    handler.onResponseStart = (...given) => {
      this.#statuses.note(options.method, options.path, given[1])
      start?.apply(handler, given)
    }
    return super.dispatch(options, handler)
  }
}
