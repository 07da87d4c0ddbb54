import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { auditHash, canonicalJson, createGrowingTree, leafHash, noHash, signCheckpoint } from '@holdfast/crypto'
import { eventNamed, lineOf, manifestOf, signer, tenantId, trustSet } from '../../test/support/audit-export.ts'
import { startShell } from '../../test/support/shell.ts'

const count = 1_000_000
const mostSeconds = 60
/** Memory limit for a file of 423 MB. */
const mostMegabytes = 200

test('a million events are verified in a minute, in memory that does not grow with them', {
  timeout: 900_000,
}, async (t) => {
  const { home, run } = await startShell(t)
  const path = join(home, 'events.ndjson')
  const file = await open(path, 'w')
  const digest = createHash('sha256')
  const tree = createGrowingTree()
  let [hash, bytes] = [noHash, 0]
  const origin = `holdfast.test/audit/${tenantId}`
  let carried = ''
  for (let seq = 1; seq <= count; ) {
    const lines: string[] = []
    for (; lines.length < 1000; seq++) {
      const more = { source_ip: '192.0.2.1', user_agent: 'holdfast-cli/0.1.0', request_id: `req_${seq}`, origin: 'api' }
      const record = canonicalJson(eventNamed(seq, { ...more, outcome: 'success', target: null }))
      hash = auditHash(hash, seq, record)
      tree.append(leafHash(hash))
      lines.push(lineOf({ seq, hash, record }))
    }
    const piece = Buffer.from(lines.join(''))
    digest.update(piece)
    bytes += piece.length
    await file.write(piece)
    if (tree.size === count - 1000)
      carried = await signCheckpoint({ origin, size: tree.size, root: tree.root() }, signer)
  }
  const end = hash.toString('hex')
  const said = { first_seq: 1, last_seq: count, hash_before_first: noHash.toString('hex'), hash_of_last: end }
  const content = { events: count, bytes, sha256: digest.digest('hex'), head: { seq: count, hash: end } }
  await file.write(await manifestOf([], { ...said, ...content, checkpoint: carried }))
  await file.close()
  const checkpoint = { origin, size: count, root: tree.root() }
  await writeFile(join(home, 'kept.txt'), await signCheckpoint(checkpoint, signer))
  const document = canonicalJson(trustSet)
  const signed = { payload: Buffer.from(document).toString('base64url'), signatures: [] }
  await writeFile(join(home, 'trust.json'), JSON.stringify({ ...trustSet, signed }))

  let most = 0
  const before = process.memoryUsage.rss()
  const timer = setInterval(() => (most = Math.max(most, process.memoryUsage.rss() - before)), 50)
  t.after(() => clearInterval(timer))
  const since = performance.now()
  const cpu = process.cpuUsage()
  const options = ['--trust-set', join(home, 'trust.json'), '--checkpoint', join(home, 'kept.txt')]
  const { code, out, err } = await run(['audit', 'verify', path, ...options, '--json'])
  const used = process.cpuUsage(cpu)
  // CPU time, so that a busy machine does not affect the result.
  const seconds = (used.user + used.system) / 1e6
  const clock = (performance.now() - since) / 1000
  t.diagnostic(
    `${count} events, ${Math.round(bytes / 1e6)} MB: ${seconds.toFixed(1)} s of CPU, ${clock.toFixed(1)} s, ${Math.round(most / 2 ** 20)} MiB more`,
  )
  const { checkpoint: compared, checkpoints } = JSON.parse(out)
  assert.deepEqual([code, compared, checkpoints], [0, count, 2], err)
  assert.match(err, /^100000 events …\n200000 events …\n/)
  assert.ok(seconds <= mostSeconds, `${seconds} s`)
  assert.ok(most <= mostMegabytes * 2 ** 20, `${most} bytes`)
})
