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
  /** Replaces our own balancer. Given the replicas' ports, it returns the URL at which it is reached. */
  balance?: (ports: readonly number[]) => Promise<{ url: string; close: () => Promise<void> }>
  environment?: Record<string, string>
}

/**
 * A deployment as operators run it: each replica is a process of its own and reaches the one database through its own
 * proxy. A balancer stands in front of the replicas. All of them start at once, on an empty database.
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
    // Suspended devices keep sending requests, all from one address.
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
    // A replica that ends here is counted as an unasked exit, and started again as a supervisor would.
    await Promise.all(nodes.map(({ replica }) => replica.start().catch(() => replica.start())))
    // The balancer checks readiness by itself.
    while ((await fetch(`${balancer.url}/readyz`).catch(() => undefined))?.status !== 200) await delay(50)
  } catch (e) {
    await remove()
    throw e
  }
  return {
    url: balancer.url,
    nodes,
    /** Creates an API key of a platform administrator, with the API rate limit lifted. */
    makeApiKey: async (): Promise<string> => {
      const { client } = await signIn({ baseUrl: balancer.url, username: 'admin', password: adminPassword })
      await changeSecuritySettings(client, { api: unlimited })
      const { secret } = await client.createApiKey({ body: { name: 'stand', role: 'platform_admin' } })
      return secret
    },
    /** Log lines of the replicas that no fault excuses, with their counts. */
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
    /** Copies the replicas' logs to a folder that is not removed, and returns that folder. */
    keepLogs: async (): Promise<string> => {
      const kept = await mkdtemp(join(tmpdir(), 'holdfast-logs-'))
      for (const { replica } of nodes) await copyFile(replica.logFile, join(kept, basename(replica.logFile)))
      return kept
    },
    /** Errors that the replicas logged, with their counts. */
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

/** True for a line of the bundle; Node.js shows it above an uncaught error. */
const isSource = (line: string): boolean => line.length > 2_000 && !line.startsWith('{')
const crashOf = (before: readonly string[]): string =>
  before
    .slice(-14)
    .map((line) => line.slice(0, 200))
    .join('\n                  ')

/**
 * Log texts of unexpected failures; an unreachable database is not one of them. Node.js ends its report of an uncaught
 * error with its own version.
 */
const unhandledKinds =
  /^Node\.js v|unhandled|uncaught|(Type|Reference|Range|Syntax|Assertion)Error\b[^"\\]{0,80}|MaxListenersExceeded|current transaction is aborted|duplicate key[^"\\]{0,80}|deadlock detected/i
