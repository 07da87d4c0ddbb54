import pg from 'pg'

/**
 * Does the work of `pgbench` with this process and the driver of Node, for machines without `pgbench`. It is slower.
 */
export async function runByDriver(run: {
  databaseUrl: string
  script: (random: bigint) => string[]
  clients: number
  seconds: number
}): Promise<number> {
  const max = run.clients
  const pool = new pg.Pool({ connectionString: run.databaseUrl, max, options: '-c role=holdfast_app' })
  const started = performance.now()
  let next = BigInt(Date.now()) * 1_000_000n
  let done = 0
  const client = async () => {
    const connection = await pool.connect()
    while (performance.now() - started < run.seconds * 1000) {
      for (const statement of run.script(next++)) await connection.query(statement)
      done++
    }
    connection.release()
  }
  await Promise.all(Array.from({ length: max }, client))
  const seconds = (performance.now() - started) / 1000
  await pool.end()
  return done / seconds
}
