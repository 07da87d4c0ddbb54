import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Functions that a process offers. Each takes one argument; arguments and results must be serializable. */
type Commands = { [name: string]: (input: never) => Promise<unknown> }
type InputOf<F> = F extends (input: infer I) => unknown ? I : never
type OutputOf<F> = F extends (input: never) => Promise<infer O> ? O : never
type Call = { id: number; name: string; input: unknown }
type Said = { id: number; result: unknown } | { id: number; error: string } | { event: unknown }

/**
 * Runs in the child process: answers calls until the parent disconnects, and then exits. Returns a function that sends
 * events.
 */
export function serveCommands<E>(commands: Commands): (event: E) => void {
  const say = (said: Said) => {
    const orEnd = (error: Error | null) => void (error && process.exit(0))
    if (process.connected) process.send?.(said, undefined, undefined, orEnd)
  }
  process.on('disconnect', () => process.exit(0))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
  process.on('message', async ({ id, name, input }: Call) => {
    try {
      const command = commands[name]
      if (!command) throw new Error(`no command ${name}`)
      say({ id, result: await command(input as never) })
    } catch (error) {
      say({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
  return (event) => say({ event })
}

export type Worker<C extends Commands> = {
  call: <K extends keyof C & string>(name: K, input: InputOf<C[K]>) => Promise<OutputOf<C[K]>>
  stop: () => Promise<void>
}

/** Starts a file of this folder as a child process. It exits when this process does, for any reason. */
export function startWorker<C extends Commands, E>(file: string, onEvent: (event: E) => void): Worker<C> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    serialization: 'advanced',
  })
  const open = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  let last = 0
  let over = false
  const exited = new Promise<void>((resolve) => {
    child.once('exit', (code, signal) => {
      over = true
      for (const { reject } of open.values()) reject(new Error(`${file} ended (${signal ?? code})`))
      resolve()
    })
  })
  child.on('message', (said: Said) => {
    if ('event' in said) return onEvent(said.event as E)
    const waiting = open.get(said.id)
    open.delete(said.id)
    if ('error' in said) waiting?.reject(new Error(said.error))
    else waiting?.resolve(said.result)
  })
  return {
    call: (name, input) =>
      new Promise((resolve, reject) => {
        if (over) return reject(new Error(`${file} has ended`))
        const id = ++last
        open.set(id, { resolve: (value) => resolve(value as OutputOf<C[typeof name]>), reject })
        child.send({ id, name, input })
      }),
    stop: async () => {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}
