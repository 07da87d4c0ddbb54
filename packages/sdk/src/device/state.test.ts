import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { generateKey } from '@holdfast/crypto'
import { createIssuer } from '../../test/support/issuer.ts'
import { type DeviceState, fileStore } from './state.ts'

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'holdfast-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

const state: DeviceState = {
  schema: 'holdfast.device-state/1',
  baseUrl: 'https://control.example',
  deviceId: 'dev_1',
  tenantId: 'tnt_a',
  userId: null,
  privateJwk: generateKey('ES256').privateJwk,
  credential: 'c0',
  expiresAt: '2030-01-01T00:00:00Z',
  renewAfter: '2029-12-01T00:00:00Z',
  trust: await createIssuer().trustSet(),
  accepted: null,
  policy: null,
  directory: null,
}

test('the state survives in a file that only its owner reads', { skip: process.platform === 'win32' }, async (t) => {
  const path = join(await folder(t), 'deep', 'device.json')
  const store = fileStore(path)
  assert.equal(await store.load(), undefined)
  await store.save(state)
  assert.deepEqual(await store.load(), state)
  assert.equal((await stat(path)).mode & 0o777, 0o600)

  await writeFile(path, '{}', { mode: 0o644 })
  await store.save(state)
  assert.equal((await stat(path)).mode & 0o777, 0o600, 'a file of looser mode is replaced, not kept')
})

test('saves at the same time leave the last one, whole, and nothing beside it', async (t) => {
  const path = await folder(t)
  const store = fileStore(join(path, 'device.json'))
  await Promise.all(Array.from({ length: 20 }, (_, n) => store.save({ ...state, credential: `c${n}` })))
  assert.equal((await store.load())?.credential, 'c19')
  assert.deepEqual(await readdir(path), ['device.json'])
})

test('a file that is something else is refused', async (t) => {
  const path = join(await folder(t), 'device.json')
  for (const text of ['', 'x', '[]', '{"schema":"other"}']) {
    await writeFile(path, text)
    await assert.rejects(fileStore(path).load(), TypeError, text)
  }
})
