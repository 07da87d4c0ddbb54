import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type Kit, startKit } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

const mib = 1024 * 1024
const path = '/v1/admin/directory-sync/snapshot'

/** A request with an incomplete body. Returns the answer so far, and a function to end it. */
async function begin(kit: Kit, key: string, length: number | 'chunked') {
  const { hostname, port } = new URL(kit.url)
  const socket = connect({ host: hostname, port: Number(port) })
  let answer = ''
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')))
  socket.on('error', () => {})
  const size = length === 'chunked' ? 'transfer-encoding: chunked' : `content-length: ${length}`
  const chunk = `{"provider":"corp",`
  const body = length === 'chunked' ? `${chunk.length.toString(16)}\r\n${chunk}\r\n` : chunk
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: holdfast.test\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n${size}\r\n\r\n${body}`,
  )
  for (let n = 0; n < 25 && answer === ''; n++) await delay(10)
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0), answer, end: () => socket.destroy() }
}
/** Repeats it until it is answered, even on a busy machine. */
async function answered(kit: Kit, key: string, length: number | 'chunked') {
  for (let n = 0; n < 100; n++) {
    const got = await begin(kit, key, length)
    if (got.status !== 0) return got
    got.end()
  }
  throw new Error('it is read')
}

test('large bodies are counted before they are read: of a tenant 64 MiB at once, of all 128', async (t) => {
  const kit = await startKit(t)
  const [one, two, three] = [
    await kit.keyFor('tenant_admin'),
    await kit.keyFor('tenant_admin', await kit.newTenant()),
    await kit.keyFor('tenant_admin', await kit.newTenant()),
  ] as const
  const first = await begin(kit, one, 40 * mib)
  const second = await begin(kit, one, 20 * mib)
  assert.deepEqual([first.status, second.status], [0, 0], 'both are read')
  const third = await answered(kit, one, 5 * mib)
  assert.equal(third.status, 429)
  assert.match(third.answer, /retry-after: 2\r\n/i)
  assert.match(third.answer, /connection: close\r\n/i)
  const small = await begin(kit, one, 100_000)
  const chunked = await answered(kit, one, 'chunked')
  assert.deepEqual([small.status, chunked.status], [0, 429], 'who does not say how long it is may send the longest')
  const theirs = await begin(kit, two, 64 * mib)
  const more = await answered(kit, three, 5 * mib)
  assert.deepEqual([theirs.status, more.status], [0, 429])
  const busy = (await eventsOf(kit, 'request.refused')).filter((e) => e.reason === 'rate_limited')
  assert.deepEqual(
    busy.map((e) => [e.operation, e.details?.refused]),
    [['ingestDirectorySnapshot', 1]],
    'on record in the tenant',
  )
  const beyond = await answered(kit, three, 65 * mib)
  assert.equal(beyond.status, 400)

  // A request that ends makes room for another.
  for (const { end } of [first, second, theirs]) end()
  for (let n = 0; ; n++) {
    const again = await begin(kit, one, 64 * mib)
    if (again.status === 0) {
      again.end()
      break
    }
    assert.ok(n < 50)
  }
  small.end()
})
