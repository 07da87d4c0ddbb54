import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onCore } from './cores.ts'

/** What a helper process can be asked for, by name. Arguments and results travel as structured clones. */
type Calls = Record<string, (input: never) => unknown>
type Question = { id: number; name: string; input: unknown }
type Reply = { id: number; output?: unknown; error?: string }

/** In the helper: answers until whoever started it has gone. */
export function serveCalls(calls: Calls): void {
  process.on('message', async ({ id, name, input }: Question) => {
    try {
      process.send?.({ id, output: await calls[name]?.(input as never) } satisfies Reply)
    } catch (e) {
      process.send?.({ id, error: (e as Error).stack ?? String(e) } satisfies Reply)
    }
  })
  process.on('disconnect', () => process.exit(0))
}

export type Helper<C extends Calls> = {
  pid: number
  call: <K extends keyof C & string>(name: K, input: Parameters<C[K]>[0]) => Promise<Awaited<ReturnType<C[K]>>>
  stop: () => Promise<void>
}

/** Ten gateways of a million peers are one helper. */
const heap = '--max-old-space-size=16000'

/** Starts a helper on a core of its own; `file` is beside this one. */
export function startHelper<C extends Calls>(file: string, core: number): Helper<C> {
  const entry = fileURLToPath(new URL(file, import.meta.url))
  const [command, args] = onCore(core, [process.execPath, heap, '--disable-warning=ExperimentalWarning', entry])
  const child: ChildProcess = spawn(command, args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    serialization: 'advanced',
  })
  const open = new Map<number, { resolve: (value: unknown) => void; reject: (e: Error) => void }>()
  let last = 0
  child.on('message', ({ id, output, error }: Reply) => {
    const asked = open.get(id)
    open.delete(id)
    if (error !== undefined) asked?.reject(new Error(`${file}: ${error}`))
    else asked?.resolve(output)
  })
  const exited = new Promise<void>((resolve) =>
    child.once('exit', () => {
      for (const { reject } of open.values()) reject(new Error(`${file} ended`))
      resolve()
    }),
  )
  return {
    pid: child.pid ?? 0,
    call: (name, input) =>
      new Promise((resolve, reject) => {
        const id = ++last
        open.set(id, { resolve: resolve as (value: unknown) => void, reject })
        child.send({ id, name, input } satisfies Question)
      }),
    stop: async () => {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}
