import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { canonicalJson } from '@holdfast/crypto'
import { checkpointOf, lineOf, makeRecord, manifestOf, trustSet } from '../../test/support/audit-export.ts'
import { type Answered, startServer, startShell } from '../../test/support/shell.ts'

test('a file or standard input is verified without a server', async (t) => {
  const { home, run } = await startShell(t)
  const signed = { payload: Buffer.from(canonicalJson(trustSet)).toString('base64url'), signatures: [] }
  const trust = join(home, 'trust.json')
  await writeFile(trust, JSON.stringify({ ...trustSet, signed }))
  const rows = makeRecord(3)
  const stdin = rows.map(lineOf).join('') + (await manifestOf(rows))
  const verify = (text: string, ...args: string[]) => run(['audit', 'verify', '-', ...args], { stdin: text })
  const good = await verify(stdin, '--trust-set', trust)
  assert.deepEqual([good.code, good.err], [0, 'The events were not compared with a checkpoint.\n'])
  assert.match(good.out, /^verified +true\n/)
  const bad = await verify(stdin.replace('api_key.used', 'api_key.gone'), '--trust-set', trust)
  assert.equal(bad.code, 1)
  assert.match(bad.out, /^verified +false\nfirst_bad_seq +1\nwhy +its hash is wrong/)
  assert.match((await verify(stdin)).err, /No trusted keys and no checkpoint/)
  assert.match((await verify(stdin, '--server')).err, /Name a file, or use --server/)
  assert.match((await verify(stdin, '--trust-set', trust, '--keep', 'x')).err, /--keep needs --server/)
})

test('an error or a busy answer of the server is no verdict about its log', async (t) => {
  const error = (status: number, name: string, headers = {}): Answered => ({
    status,
    headers,
    body: { error: name, detail: 'so it is', request_id: 'r' },
  })
  const failed = error(500, 'internal_error')
  const busy = (seconds: string) => error(429, 'rate_limited', { 'retry-after': seconds })
  let answers: Record<string, Answered[]> = {}
  const server = await startServer(t, ({ line }) => {
    const path = Object.keys(answers).find((some) => line.startsWith(`GET /v1/${some}`))
    return answers[path ?? '']?.shift() ?? { body: { items: [], next_cursor: null } }
  })
  const { run } = await startShell(t, { HOLDFAST_URL: server.url, HOLDFAST_API_KEY: 'hfk_x' })
  const keys = () => ({ body: trustSet })
  const cases: [Record<string, Answered[]>, RegExp][] = [
    [{ 'trust/anchors': [failed] }, /The server failed: so it is\. The audit log was not verified/],
    [{ 'trust/anchors': [error(401, 'unauthorized')] }, /refused the credential.*Sign in(?:.|\n)*holdfast login/],
    [{ 'trust/anchors': [keys()], 'audit/checkpoints': [failed] }, /The server failed/],
    [{ 'trust/anchors': [keys()], 'admin/audit/export': [failed] }, /The server failed/],
    [{ 'trust/anchors': [keys()], 'admin/audit/export': [error(403, 'forbidden')] }, /audit:read and audit:export/],
    [{ 'trust/anchors': [keys()], 'admin/audit/export': [busy('0'), busy('61')] }, /is busy/],
    [{ 'trust/anchors': [keys()], 'admin/audit/export': [busy('1'), failed] }, /The server failed/],
  ]
  for (const [given, why] of cases) {
    answers = given
    const { code, out, err } = await run(['audit', 'verify', '--server', '--json'])
    assert.deepEqual([code, out], [2, ''], err)
    assert.match(err, why)
  }
})

test('a malformed checkpoint or trust set is wrong use; a forged checkpoint is a failed verification', async (t) => {
  const { home, run } = await startShell(t)
  const signed = { payload: Buffer.from(canonicalJson(trustSet)).toString('base64url'), signatures: [] }
  const file = async (name: string, text: string) => {
    await writeFile(join(home, name), text)
    return join(home, name)
  }
  const trust = await file('trust.json', JSON.stringify({ ...trustSet, signed }))
  const rows = makeRecord(3)
  const events = await file('events', rows.map(lineOf).join('') + (await manifestOf(rows)))
  const checkpoint = await checkpointOf(rows)
  const verify = async (text: string, keys = trust) => {
    const kept = await file('kept.txt', text)
    return run(['audit', 'verify', events, '--trust-set', keys, '--checkpoint', kept, '--json'])
  }
  assert.equal((await verify(checkpoint)).code, 0)
  for (const text of ['', '{}', checkpoint.slice(0, -20)]) {
    const { code, out, err } = await verify(text)
    assert.deepEqual([code, out], [2, ''])
    assert.match(err, /--checkpoint is not a checkpoint/)
  }
  const forged = await verify(checkpoint.replace('\n3\n', '\n2\n'))
  assert.deepEqual([forged.code, JSON.parse(forged.out).first_bad_seq], [1, 2])
  const other = await verify(checkpoint, events)
  assert.deepEqual([other.code, other.out], [2, ''])
  assert.match(other.err, /--trust-set can't be used/)
})
