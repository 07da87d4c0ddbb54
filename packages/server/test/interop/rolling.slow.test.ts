import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { without } from './tools.ts'

const rolling = join(import.meta.dirname, '../../../bench/src/rolling.ts')

test('no request fails while replicas behind HAProxy restart one after the other', {
  skip: without('haproxy'),
}, async (t) => {
  const options = ['--haproxy', '--requests', process.env.HOLDFAST_ROLLING_REQUESTS ?? '20000', '--rate', '500']
  const child = spawn(process.execPath, [rolling, ...options], { stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => void child.kill('SIGTERM'))
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const code = await new Promise((resolve) => child.once('exit', resolve))
  t.diagnostic(output)
  assert.equal(code, 0, output)
})
