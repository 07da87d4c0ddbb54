import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startProcesses } from '../support/deployment/server-processes.ts'

test('a process without the master key of its database ends with one sentence', async (t) => {
  const { launch, start, folder } = await startProcesses(t)
  const file = join(folder, 'another.key')
  writeFileSync(file, `${randomBytes(32).toString('base64')}\n`)
  const lost = launch(undefined, { HOLDFAST_MASTER_KEY_FILE: file })
  lost.port.catch(() => {})
  assert.equal((await lost.end()).how, '1')
  assert.match(
    lost.output().trim(),
    /^holdfast: The master key [0-9a-f]{16} is in use, but it is not in HOLDFAST_MASTER_KEY_FILE, which has [0-9a-f]{16}: restore its line; see docs\/master-key\.md\.$/,
  )
  // The one that was made at the first start, with another line after it.
  writeFileSync(file, `${readFileSync(join(folder, 'master.key'), 'utf8')}${randomBytes(32).toString('base64')}\n`)
  const found = await start(undefined, { HOLDFAST_MASTER_KEY_FILE: file })
  assert.equal(await found.isReady(), true)
})
