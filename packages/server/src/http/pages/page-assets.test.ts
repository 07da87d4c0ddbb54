import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { assetPath, createAsset, registerAssets } from './page-assets.ts'

test('Accept-Encoding is read with its quality values, and long headers in linear time', async () => {
  const http = Fastify()
  const [name, asset] = createAsset('style.css', 'a{}')
  registerAssets(http, new Map([[name, asset]]))
  const ask = (headers: Record<string, string>) => http.inject({ url: assetPath(name), headers })
  const coding = async (accepts: string) =>
    (await ask({ 'accept-encoding': accepts })).headers['content-encoding'] ?? 'identity'
  for (const [accepts, expected] of [
    [' gzip ; q=0.5 ', 'gzip'],
    ['gzip;q=0.5;q=1', 'identity'],
    ['gzip; level=1', 'identity'],
    ['gzip;', 'identity'],
    ['GZIP;Q=1', 'gzip'],
    ['br ;q=0.1, gzip', 'gzip'],
  ])
    assert.equal(await coding(accepts!), expected, accepts)
  const many = ' '.repeat(50_000)
  for (const headers of [
    { 'accept-encoding': `gzip${many}x` },
    { 'accept-encoding': `gzip${many};${many}` },
    { 'if-none-match': `"a"${many}x` },
    { 'if-none-match': `"a${many}` },
    { 'if-none-match': `x${many}` },
    { 'if-none-match': `"a",${many}` },
  ] as Record<string, string>[]) {
    const since = performance.now()
    assert.equal((await ask(headers)).statusCode, 200)
    assert.ok(performance.now() - since < 1500, JSON.stringify(headers).slice(0, 40))
  }
  await http.close()
})
