import { Agent, buildConnector, Dispatcher } from 'undici'

/** Requests under way at a time that are answered at once. */
const shortLines = 64
/**
 * A client of HTTP looks through all its connections for a free one, so that those of ten thousand devices are not
 * one's.
 */
const heldLines = 256
const quietMs = 60_000

/** Connections to the server, at a port of its own choice where that is not the one of its URL. */
export function agentAt(doorOf: () => number | undefined, connections: number | null = null): Agent {
  const connector = buildConnector({ timeout: quietMs })
  return new Agent({
    ...{ keepAliveTimeout: quietMs, pipelining: 1, connections },
    connect: (options, callback) => {
      const door = doorOf()
      connector(door === undefined ? options : { ...options, port: String(door) }, callback)
    },
  })
}

/**
 * The connections of a process full of devices: a request that the server holds has one of its own, as a device's has;
 * what is answered at once shares a few, so that ten thousand devices that begin together wait here, not at the server.
 */
export function createLines() {
  let door: number | undefined
  const short = agentAt(() => door, shortLines)
  const held = Array.from({ length: heldLines }, () => agentAt(() => door))
  return {
    openAt: (port: number | undefined): void => {
      door = port
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
