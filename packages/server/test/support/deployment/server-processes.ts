import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createTestDatabase } from '../database/test-database.ts'
import { schema } from './deployment.ts'
import { listening } from './server-output.ts'

const main = join(import.meta.dirname, '../../../src/main.ts')
export const password = 'processes that are only tried'

/** A database and a folder that replicas share. Each replica is a process of its own. */
export async function startDeployment(t: TestContext) {
  const database = await createTestDatabase(schema)
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-process-'))
  const ends: (() => Promise<unknown>)[] = []
  t.after(async () => {
    await Promise.all(ends.map((end) => end()))
    await database.drop()
    rmSync(folder, { recursive: true })
  })

  function launch(url = database.url, environment: Record<string, string> = {}) {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env.PATH,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        DATABASE_URL: url,
        HOLDFAST_DATA_DIR: folder,
        HOLDFAST_PORT: '0',
        HOLDFAST_PUBLIC_URL: 'https://vpn.corp.example',
        HOLDFAST_ADMIN_PASSWORD: password,
        HOLDFAST_DRAIN_SECONDS: '0',
        ...environment,
      },
    })
    const said = listening(child)
    let how: string | undefined
    const ended = new Promise<string>((resolve) =>
      child.once('exit', (code, signal) => {
        how = String(signal ?? code)
        resolve(how)
      }),
    )
    ends.push(() => {
      child.kill('SIGKILL')
      return ended
    })
    return {
      port: said.port,
      output: said.output,
      isRunning: () => how === undefined,
      signal: () => void child.kill('SIGTERM'),
      /** SIGKILL. */
      kill: () => void child.kill('SIGKILL'),
      /** Waits for the end of the process. Returns how it ended, and the milliseconds from this call. */
      end: async () => {
        const asked = performance.now()
        return { how: await ended, tookMs: performance.now() - asked }
      },
    }
  }
  /** Starts a replica and waits for its port. */
  async function start(url?: string, environment?: Record<string, string>) {
    const launched = launch(url, environment)
    const port = await launched.port
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(1000) }).then(
        (answer) => answer.status === 200,
        () => false,
      )
    return { ...launched, port, isReady }
  }
  // One replica creates the schema first, so that those that follow start quickly and at the same time.
  const first = await start()
  first.signal()
  const { how, tookMs } = await first.end()
  assert.equal(how, '0', first.output())
  return { database, folder, launch, start, firstTookMs: tookMs }
}
