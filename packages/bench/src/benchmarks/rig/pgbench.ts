import { spawn, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadCore, onCore } from './cores.ts'

export const hasPgbench = (): boolean => spawnSync('pgbench', ['--version']).status === 0

/** Transactions per second of a script that `clients` repeat as fast as possible, in the role of the application. */
export async function runPgbench(run: {
  databaseUrl: string
  script: string
  clients: number
  seconds: number
}): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-pgbench-'))
  const file = join(directory, 'script.sql')
  try {
    await writeFile(file, run.script)
    const load = ['-n', '-c', String(run.clients), '-T', String(run.seconds), '-f', file]
    const [command, args] = onCore(loadCore, ['pgbench', ...load, run.databaseUrl])
    const child = spawn(command, args, { env: { ...process.env, PGOPTIONS: '-c role=holdfast_app' } })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString()
      })
    await new Promise((resolve) => child.once('close', resolve))
    const [, tps] = /^tps = ([\d.]+)/m.exec(output) ?? []
    if (tps === undefined) throw new Error(`pgbench did not say how fast it was:\n${output.slice(-2000)}`)
    return Number(tps)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}
