import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { KeyAwayError } from '../provider.ts'
import { createTokenClient } from './token-client.ts'

/** A client of a library that does not exist, and its log. */
function clientOf(
  t: TestContext,
  { pin = 'hunter2\n' as string | undefined, library = '/nonexistent/pkcs11.so' } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-token-'))
  const pinFile = join(folder, 'pin')
  if (pin !== undefined) writeFileSync(pinFile, pin)
  const logs: string[] = []
  const note = (o: object, message: string) => void logs.push(`${message} ${JSON.stringify(o)}`)
  const log = { info: note, warn: note, error: note }
  const client = createTokenClient({ library, token: 'holdfast', pinFile, environment: {} }, log)
  t.after(async () => {
    await client.stop()
    rmSync(folder, { recursive: true })
  })
  return { client, logs, pinFile, sign: () => client.use({ ask: 'sign', kid: 'k', digest: Buffer.alloc(32) }) }
}
const away = (reason: RegExp) => (e: unknown) => {
  assert.ok(e instanceof KeyAwayError)
  assert.equal(e.message, 'a signing key is unavailable: try again shortly')
  assert.ok(e.retryAfterSeconds)
  assert.match((e.cause as Error).message, reason)
  return true
}

test('a missing library is logged once, without the PIN', async (t) => {
  const { sign, logs } = clientOf(t)
  await assert.rejects(sign(), away(/Failed to load|cannot open/))
  await assert.rejects(sign(), away(/Failed to load|cannot open/))
  assert.equal(logs.length, 1)
  assert.match(logs[0]!, /PKCS#11 token cannot be opened.*"token":"holdfast".*nonexistent/)
  assert.ok(!logs.join().includes('hunter2'))
})

test('a wrong library and an unreadable PIN file make the key unavailable', async (t) => {
  const other = clientOf(t, { library: process.execPath })
  await assert.rejects(other.sign(), KeyAwayError)
  const none = clientOf(t)
  rmSync(none.pinFile)
  for (let i = 0; i < 3; i++) await assert.rejects(none.sign(), away(/ENOENT/))
  assert.equal(none.logs.length, 1, 'which is told once for all who ask soon after')
})

test('twenty concurrent calls each fail, and a stop does not wait', async (t) => {
  const { sign, client, logs } = clientOf(t)
  const outcomes = Promise.allSettled(Array.from({ length: 20 }, sign))
  await client.stop()
  assert.ok((await outcomes).every((o) => o.status === 'rejected'))
  assert.equal(logs.length, 1)
  await assert.rejects(sign(), KeyAwayError)
})
