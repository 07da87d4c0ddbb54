import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { canonicalJson } from '@holdfast/crypto'
import { lineOf, makeRecord, manifestOf, trustSet } from '../audit/export.fixture.ts'
import { startShell } from '../test-shell.ts'

test('what is verified comes from a file or from standard input, and needs no server', async (t) => {
  const { home, run } = await startShell(t)
  const signed = { payload: Buffer.from(canonicalJson(trustSet)).toString('base64url'), signatures: [] }
  const trust = join(home, 'trust.json')
  await writeFile(trust, JSON.stringify({ ...trustSet, signed }))
  const rows = makeRecord(3)
  const stdin = rows.map(lineOf).join('') + (await manifestOf(rows))
  const verify = (text: string, ...args: string[]) => run(['audit', 'verify', '-', ...args], { stdin: text })
  const good = await verify(stdin, '--trust-set', trust)
  assert.deepEqual([good.code, good.err], [0, 'It was compared with no checkpoint.\n'])
  assert.match(good.out, /^verified +true\n/)
  const bad = await verify(stdin.replace('api_key.used', 'api_key.gone'), '--trust-set', trust)
  assert.equal(bad.code, 1)
  assert.match(bad.out, /^verified +false\nfirst_bad_seq +1\nwhy +its hash does not fit/)
  assert.match((await verify(stdin)).err, /Name what is trusted/)
  assert.match((await verify(stdin, '--server')).err, /Name a file, or say --server/)
  assert.match((await verify(stdin, '--trust-set', trust, '--keep', 'x')).err, /--keep goes with --server/)
})
