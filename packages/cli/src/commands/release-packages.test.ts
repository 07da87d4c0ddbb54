import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { startShell } from '../test-shell.ts'

test('of a download that breaks off nothing stays', async (t) => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': '1000' })
    response.write('the first bytes', () => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { home, run } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const file = join(home, 'client.tar.gz')
  const { code, err } = await run(['release', 'download', 'pkg_01jxz3c9dqf7vr2m8k4s6t0b5w', file])
  assert.notEqual(code, 0)
  assert.match(err, /can't be written/)
  assert.equal(existsSync(file), false)
})
