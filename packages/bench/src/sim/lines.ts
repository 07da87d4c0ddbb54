import { Agent, buildConnector, Dispatcher } from 'undici'

/** Requests under way at a time that are answered at once. */
const shortLines = 64
/** Devices are spread over several HTTP clients, since a client searches all of its connections for a free one. */
const heldLines = 256
const quietMs = 60_000

/** Connections to the server, at another port than that of its URL if one is given. */
export function agentAt(portOf: () => number | undefined, connections: number | null = null): Agent {
  const connector = buildConnector({ timeout: quietMs })
  return new Agent({
    keepAliveTimeout: quietMs,
    pipelining: 1,
    connections,
    connect: (options, callback) => {
      const currentPort = portOf()
      connector(currentPort === undefined ? options : { ...options, port: String(currentPort) }, callback)
    },
  })
}

/**
 * The connections of a process with many devices. A request that the server holds has its own connection, as a real
 * device's has. Short requests share a few connections: ten thousand devices that start together queue here and not at
 * the server.
 */
export function createLines() {
  let currentPort: number | undefined
  const short = agentAt(() => currentPort, shortLines)
  const held = Array.from({ length: heldLines }, () => agentAt(() => currentPort))
  return {
    openAt: (port: number | undefined): void => {
      currentPort = port
    },
    of: (index: number): Dispatcher => new Line(short, held[index % held.length] ?? short),
  }
}

class Line extends Dispatcher {
  readonly #short: Dispatcher
  readonly #held: Dispatcher

  constructor(short: Dispatcher, held: Dispatcher) {
    super()
    this.#short = short
    this.#held = held
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const isHeld = options.headers && 'prefer' in options.headers
    return (isHeld ? this.#held : this.#short).dispatch(options, handler)
  }
}
