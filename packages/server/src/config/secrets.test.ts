import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ConfigError, parseConfig } from './config.ts'
import { loadSecrets } from './secrets.ts'

function folderFor(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-secrets-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'master.key')
  return {
    file,
    load: (lines?: string, env: Record<string, string> = {}) => {
      if (lines !== undefined) writeFileSync(file, lines)
      return loadSecrets(env, parseConfig({ HOLDFAST_DATA_DIR: folder }))
    },
    serviceSecret: () => readFileSync(join(folder, 'gateway-service.secret'), 'utf8').trim(),
  }
}
const line = () => randomBytes(32).toString('base64')

test('a first start makes one master key, for its owner alone', async (t) => {
  const { load, file } = folderFor(t)
  const { masterKeys } = await load()
  assert.match(readFileSync(file, 'utf8'), /^[A-Za-z0-9+/]{43}=\n$/)
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.deepEqual(
    (await load()).masterKeys.map(({ id }) => id),
    masterKeys.map(({ id }) => id),
  )
})

test('the first line writes, the others are read; what is derived from one does not depend on the others', async (t) => {
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

test('a file that is not what it must be is refused by its name, and no key is in the message', async (t) => {
  const { load, file } = folderFor(t)
  const [a, b] = [line(), line()]
  for (const [text, why] of [
    ['', /line 1 does not/],
    [`${a.slice(0, 20)}\n`, /line 1 does not/],
    [`${a}\n${b.slice(4)}\n`, /line 2 does not/],
    [`${a}\n\n${b}\n`, /line 2 does not/],
    [`${a}${b}\n`, /line 1 does not/],
    [`${a}\n${b} and more\n`, /line 2 does not/],
    [`${a}\n${b}\n${a}\n`, /the same key twice, in line 3 again/],
    [`${[a, b, line(), line(), line()].join('\n')}\n`, /has 5 lines; at most 4 keys are read/],
    [randomBytes(32).toString('hex'), /line 1 does not/],
  ] as const)
    await assert.rejects(load(text), (e: unknown) => {
      assert.ok(e instanceof ConfigError)
      assert.match(e.message, why)
      assert.ok(e.message.includes(file) && !e.message.includes('\n') && !e.message.includes(a.slice(0, 20)))
      return true
    })
})
