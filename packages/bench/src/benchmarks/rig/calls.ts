import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onCore } from './cores.ts'

/** The functions of a helper process, by name. Arguments and results are sent as structured clones. */
type Calls = Record<string, (input: never) => unknown>
type Question = { id: number; name: string; input: unknown }
type Reply = { id: number; output?: unknown; error?: string }

/** Runs in the helper: answers calls until its parent disconnects, and then exits. */
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

/** One helper may hold ten gateways with a million peers. */
const heap = '--max-old-space-size=16000'

/** Starts a helper on its own core; `file` is in this folder. */
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
