import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../deployment/ports.ts'
import { createPostgres, type Postgres } from '../deployment/postgres.ts'
import { createReplica } from '../deployment/replica.ts'
import { adminPassword, type Served } from './deployment.ts'

/**
 * Several replicas on our own database. All have the URL of the first as their public URL, and each has its own port.
 */
export async function createReplicated(count: number): Promise<Served> {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-sim-'))
  await chmod(dataDir, 0o700)
  const ports = await Promise.all(Array.from({ length: count }, freePort))
  const url = `http://127.0.0.1:${ports[0]}`
  let postgres: Postgres | undefined
  let replicas: ReturnType<typeof createReplica>[] = []

  return {
    url,
    ports,
    dataDir,
    start: async () => {
      const started = performance.now()
      const database = await createPostgres()
      postgres = database
      replicas = ports.map((port, i) =>
        createReplica({
          name: `replica-${i + 1}`,
          port,
          publicUrl: url,
          dataDir,
          adminPassword,
          databaseUrl: database.urlAt(database.port),
          // The whole fleet uses one address.
          environment: { HOLDFAST_AUTH_FAILURES_PER_MINUTE: '1000000' },
        }),
      )
      for (const replica of replicas) await replica.start()
      return (performance.now() - started) / 1000
    },
    lastOutput: async () =>
      (await Promise.all(replicas.map(async (each) => `${each.name}:\n${await each.lastOutput()}`))).join('\n'),
    remove: async ({ keep }) => {
      await Promise.all(replicas.map((each) => each.terminate()))
      await postgres?.remove()
      if (!keep) await rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
    },
  }
}
