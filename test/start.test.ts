import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTestDatabase } from '../packages/server/test/support/database/test-database.ts'
import { listening } from '../packages/server/test/support/deployment/server-output.ts'

const root = join(import.meta.dirname, '..')

test('npm start runs one file made of the sources, with everything that the server brings', async (t) => {
  const database = await createTestDatabase()
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-start-'))
  const child = spawn(process.execPath, [join(root, 'scripts/start.mjs')], {
    cwd: dataDir,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: database.url,
      HOLDFAST_DATA_DIR: dataDir,
      HOLDFAST_PORT: '0',
      HOLDFAST_DRAIN_SECONDS: '0',
    },
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
    await database.drop()
    rmSync(dataDir, { recursive: true })
  })
  const said = listening(child)
  const port = await said.port
  if (process.platform === 'linux')
    assert.match(
      readFileSync(`/proc/${child.pid}/cmdline`, 'utf8'),
      /node_modules\/\.cache\/holdfast\/\w+\/server\/src\/main\.mjs/,
    )
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
  assert.equal(answer.status, 200)
  child.kill('SIGTERM')
  assert.equal(await ended, 0, said.output())
})
