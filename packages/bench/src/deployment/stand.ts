import { rmSync } from 'node:fs'
import { chmod, copyFile, mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { changeSecuritySettings, signIn } from '@holdfast/sdk'
import { atEnd } from './at-end.ts'
import { startBalancer } from './balancer.ts'
import { freePort } from './ports.ts'
import type { Postgres } from './postgres.ts'
import { createReplica, type Replica } from './replica.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'
import { unlimited } from './unlimited.ts'

const adminPassword = 'replicas that are only tried'

export type Node = { replica: Replica; proxy: TcpProxy }
export type Stand = Awaited<ReturnType<typeof startStand>>
type Options = {
  replicas: number
  /** Leads to the replicas instead of our own balancer: where it is reached, given their ports. */
  balance?: (ports: readonly number[]) => Promise<{ url: string; close: () => Promise<void> }>
  environment?: Record<string, string>
}

/**
 * A deployment as operators run it: replicas in processes of their own, each reaching the one database through a proxy
 * of its own, behind a balancer. All of them start at once, on an empty database.
 */
export async function startStand(postgres: Postgres, { replicas, balance = startBalancer, environment = {} }: Options) {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-stand-'))
  const removeFiles = () => rmSync(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  const forget = atEnd(removeFiles)
  await chmod(dataDir, 0o700)
  const ports = await Promise.all(Array.from({ length: replicas }, freePort))
  const balancer = await balance(ports)
  const nodes: Node[] = []
  for (const [i, port] of ports.entries()) {
    const proxy = await startTcpProxy(postgres.port)
    const databaseUrl = postgres.urlAt(proxy.port)
    const name = `replica ${i + 1}`
    // Suspended devices go on asking, all from one address.
    const patience = { HOLDFAST_AUTH_FAILURES_PER_MINUTE: '10000000', ...environment }
    const shared = { publicUrl: balancer.url, dataDir, adminPassword, environment: patience }
    nodes.push({ proxy, replica: createReplica({ name, port, databaseUrl, ...shared }) })
  }

  const remove = async () => {
    await Promise.all(
      nodes.map(async ({ replica, proxy }) => {
        proxy.release()
        await replica.terminate(20)
        await proxy.close()
      }),
    )
    await balancer.close()
    forget()
    removeFiles()
  }

  try {
    // One that ends is counted among those that nobody asked to, and started again as a supervisor would.
    await Promise.all(nodes.map(({ replica }) => replica.start().catch(() => replica.start())))
    // The balancer asks for itself.
    while ((await fetch(`${balancer.url}/readyz`).catch(() => undefined))?.status !== 200) await delay(50)
  } catch (e) {
    await remove()
    throw e
  }
  return {
    url: balancer.url,
    nodes,
    /** The key of a platform administrator whose rate is not what is tried. */
    makeApiKey: async (): Promise<string> => {
      const { client } = await signIn({ baseUrl: balancer.url, username: 'admin', password: adminPassword })
      await changeSecuritySettings(client, { api: unlimited })
      const { secret } = await client.createApiKey({ body: { name: 'stand', role: 'platform_admin' } })
      return secret
    },
    /** Lines of the replicas' logs that nothing in a fault excuses, with how often each was seen. */
    unhandled: async (): Promise<Map<string, number>> => {
      const found = new Map<string, number>()
      for (const { replica } of nodes) {
        const text = await readFile(replica.logFile, 'utf8').catch(() => '')
        const lines = text.split('\n')
        for (const [i, line] of lines.entries()) {
          const [fault] = isSource(line) ? [] : (unhandledKinds.exec(line) ?? [])
          const told = fault?.startsWith('Node.js') ? crashOf(lines.slice(0, i)) : fault
          if (told) found.set(`${replica.name}: ${told}`, (found.get(`${replica.name}: ${told}`) ?? 0) + 1)
        }
      }
      return found
    },
    /** Copies what the replicas said to a folder that stays, and returns it. */
    keepLogs: async (): Promise<string> => {
      const kept = await mkdtemp(join(tmpdir(), 'holdfast-logs-'))
      for (const { replica } of nodes) await copyFile(replica.logFile, join(kept, basename(replica.logFile)))
      return kept
    },
    /** What the replicas logged as errors, with how often each was said. */
    errors: async (): Promise<Map<string, number>> => {
      const said = new Map<string, number>()
      for (const { replica } of nodes)
        for (const line of (await readFile(replica.logFile, 'utf8').catch(() => '')).split('\n')) {
          if (!line.includes('"level":50')) continue
          const { err, msg } = JSON.parse(line) as { err?: { message?: string }; msg?: string }
          const sentence = `${msg}: ${err?.message ?? ''}`
          said.set(sentence, (said.get(sentence) ?? 0) + 1)
        }
      return said
    },
    remove,
  }
}

/** A line of the bundle, which the runtime shows above an error that nobody caught. */
const isSource = (line: string): boolean => line.length > 2_000 && !line.startsWith('{')
const crashOf = (before: readonly string[]): string =>
  before
    .slice(-14)
    .map((line) => line.slice(0, 200))
    .join('\n                  ')

/**
 * What a program says that meets something nobody thought of; a database that is away is no such thing. The runtime
 * ends what it says of an error that nobody caught with its own version.
 */
const unhandledKinds =
  /^Node\.js v|unhandled|uncaught|(Type|Reference|Range|Syntax|Assertion)Error\b[^"\\]{0,80}|MaxListenersExceeded|current transaction is aborted|duplicate key[^"\\]{0,80}|deadlock detected/i
