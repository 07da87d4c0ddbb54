import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ConfigError, parseConfig } from './config.ts'
import type { Env } from './env.ts'
import { loadSecrets } from './secrets.ts'

function folderFor(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-secrets-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'master.key')
  return {
    file,
    load: (lines?: string, env: Env = {}, keysInUse: string[] = []) => {
      if (lines !== undefined) writeFileSync(file, lines)
      return loadSecrets(env, parseConfig({ HOLDFAST_DATA_DIR: folder, ...env }), keysInUse)
    },
    serviceSecret: () => readFileSync(join(folder, 'gateway-service.secret'), 'utf8').trim(),
  }
}
const line = () => randomBytes(32).toString('base64')

test('the first start creates one master key that only its owner can read', async (t) => {
  const { load, file } = folderFor(t)
  const { masterKeys } = await load()
  assert.match(readFileSync(file, 'utf8'), /^[A-Za-z0-9+/]{43}=\n$/)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(
    (await load()).masterKeys.map(({ id }) => id),
    masterKeys.map(({ id }) => id),
  )
})

test('the first line writes and the others read; derived keys depend on their own line only', async (t) => {
  const { load, serviceSecret } = folderFor(t)
  const [a, b] = [line(), line()]
  const alone = await load(`${a}\n`)
  for (const text of [`${a}\n${b}\n`, `${a}\r\n${b}`, `  ${a}\n${b}  \n\n`]) {
    const both = await load(text)
    assert.equal(both.kek.kid, alone.kek.kid)
    assert.deepEqual([...both.kek.others.keys()], [both.masterKeys[1]!.id])
    assert.deepEqual(both.masterKeys[0].pepper.export(), alone.masterKeys[0].pepper.export())
    assert.deepEqual(both.gatewayServiceSecrets, [alone.gatewayServiceSecrets[0], both.masterKeys[1]!.serviceSecret])
    assert.equal(serviceSecret(), alone.gatewayServiceSecrets[0])
  }
  const turned = await load(`${b}\n${a}\n`)
  assert.equal(turned.masterKeys[1]!.id, alone.masterKeys[0].id)
  assert.equal(serviceSecret(), turned.masterKeys[0].serviceSecret)
  const own = 'x'.repeat(32)
  const given = await load(`${b}\n${a}\n`, { HOLDFAST_GATEWAY_SERVICE_SECRET: own })
  assert.deepEqual(given.gatewayServiceSecrets, [own])
})

test('a malformed master key file is refused by name, without showing a key', async (t) => {
  const { load, file } = folderFor(t)
  const [a, b] = [line(), line()]
  for (const [text, why] of [
    ['', /is empty/],
    [`${a.slice(0, 20)}\n`, /not have 32 bytes in base64 in line 1/],
    [`${a}\n${b.slice(4)}\n`, /not have 32 bytes in base64 in line 2/],
    [`${a}\n\n${b}\n`, /not have 32 bytes in base64 in line 2/],
    [`${a}${b}\n`, /not have 32 bytes in base64 in line 1/],
    [`${a}\n${b} and more\n`, /not have 32 bytes in base64 in line 2/],
    [`${a}\n${b}\n${a}\n`, /a key twice: line 3 repeats/],
    [`${[a, b, line(), line(), line()].join('\n')}\n`, /has 5 lines, but at most 4 keys are allowed/],
    [randomBytes(32).toString('hex'), /not have 32 bytes in base64 in line 1/],
  ] as const)
    await assert.rejects(load(text), (e: unknown) => {
      assert.ok(e instanceof ConfigError)
      assert.match(e.message, why)
      assert.ok(e.message.includes(file) && !e.message.includes('\n') && !e.message.includes(a.slice(0, 20)))
      return true
    })
})

test('a master key file elsewhere creates missing directories, and no new key for an existing database', async (t) => {
  const { load, file } = folderFor(t)
  const elsewhere = join(file, '..', 'keys/of/master.key')
  const dataDir = join(file, '..', 'not/there/yet')
  const apart = { HOLDFAST_MASTER_KEY_FILE: elsewhere, HOLDFAST_DATA_DIR: dataDir }
  const first = await load(undefined, apart)
  assert.equal(readFileSync(join(dataDir, 'gateway-service.secret'), 'utf8').trim(), first.gatewayServiceSecrets[0])
  const inUse = [first.masterKeys[0].id]
  assert.equal((await load(undefined, apart, inUse)).masterKeys[0].id, inUse[0])
  const mistyped = `${elsewhere.slice(0, -4)}/kye`
  await assert.rejects(load(undefined, { ...apart, HOLDFAST_MASTER_KEY_FILE: mistyped }, inUse), (e: unknown) => {
    assert.ok(e instanceof ConfigError)
    assert.match(e.message, /^HOLDFAST_MASTER_KEY_FILE names .* does not exist \(no new key was created, /)
    return e.message.includes(inUse[0]!)
  })
  assert.equal(existsSync(join(mistyped, '..')), false, 'no directory either')
})
