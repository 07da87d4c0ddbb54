import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startShell } from '../../test/support/shell.ts'

const size = 200_000

/** Sends the first `sent` bytes of a package, then nothing more. */
async function start(t: TestContext) {
  const control = { sent: size, asked: 0 }
  const server = createServer((_, response) => {
    control.asked++
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': String(size) })
    response.write(Buffer.alloc(control.sent, 'x'), () => (control.sent < size ? response.destroy() : response.end()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { run, home } = await startShell(t, { HOLDFAST_URL: url, HOLDFAST_API_KEY: 'hfk_x' })
  const file = join(home, 'client')
  return { control, home, file, download: () => run(['release', 'download', 'pkg_1', file]) }
}

test('an interrupted download leaves no file and exits with 3', async (t) => {
  const { control, home, file, download } = await start(t)
  control.sent = size / 2
  const { code, err } = await download()
  assert.equal(code, 3)
  assert.match(err, /^Error: Can't reach http/)
  assert.deepEqual(await readdir(home), [])
  control.sent = size
  assert.equal((await download()).code, 0)
  assert.equal((await readFile(file)).length, size)
})

test('an existing file is not overwritten, and no request is sent', async (t) => {
  const { control, download } = await start(t)
  await download()
  const { code, err } = await download()
  assert.equal(code, 2)
  assert.match(err, /it already exists/)
  assert.equal(control.asked, 1)
})
