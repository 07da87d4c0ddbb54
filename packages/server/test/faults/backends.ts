import type { TestContext } from 'node:test'
import pg from 'pg'
import type { Kit } from '../support/deployment/deployment.ts'

/** The backends of this test's own database. Stopped ones continue at the end of the test. */
export async function watchBackends(t: TestContext, kit: Kit) {
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  client.on('error', () => {})
  await client.connect()
  const stopped = new Set<number>()
  const signal = (pid: number, name: 'SIGSTOP' | 'SIGCONT') => {
    try {
      process.kill(pid, name)
    } catch (e) {
      if ((e as NodeJS.ErrnoException).code !== 'ESRCH') throw e
    }
  }
  const goOn = () => {
    for (const pid of stopped) signal(pid, 'SIGCONT')
    stopped.clear()
  }
  t.after(async () => {
    goOn()
    await client.end()
  })
  return {
    client,
    /** Process ids of the application's connections. */
    pids: async (where = 'true'): Promise<number[]> =>
      (
        await client.query<{ pid: number }>(
          `select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and ${where}`,
        )
      ).rows.map((r) => r.pid),
    stop: (pids: readonly number[]) => {
      for (const pid of pids) {
        stopped.add(pid)
        signal(pid, 'SIGSTOP')
      }
    },
    goOn,
    end: (pids: readonly number[]) =>
      client.query('select pg_terminate_backend(pid) from unnest($1::int[]) as pid', [pids]),
  }
}
