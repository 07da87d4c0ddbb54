import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exported, hashOf, readNdjson, sha256, signedManifest } from '../exports.ts'
import { startKit, times } from '../kit.ts'

test('the record as NDJSON: every event in its place, each in the hash of the next, and a signed manifest at the end', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  await times(20, (i) =>
    kit.clientFor(kit.adminKey, kit.replicas[i % 2]).generateToken({ body: { name: `token ${i}` } }),
  )
  const { status, headers, text } = await exported(kit, 'format=ndjson')
  assert.deepEqual([status, headers['content-type']], [200, 'application/x-ndjson'])
  assert.match(String(headers['content-disposition']), /^attachment; filename="audit-\d{8}T\d{6}Z\.ndjson"$/)
  assert.match(String(headers['cache-control']), /no-store/)
  const { events, content, signed } = readNdjson(text)
  let before = '00'.repeat(32)
  for (const [i, event] of events.entries()) {
    assert.equal(event.seq, i + 1)
    assert.equal(event.hash, hashOf(before, event), `place ${event.seq}`)
    before = event.hash
  }
  assert.ok(events.filter(({ kind }) => kind === 'enrollment_token.created').length === 20)
  const { manifest } = signed
  assert.deepEqual(await signedManifest(kit, signed), manifest)
  assert.deepEqual(
    [manifest.format, manifest.filter, manifest.events, manifest.first_seq, manifest.last_seq, manifest.hash_of_last],
    ['ndjson', {}, events.length, 1, events.length, before],
  )
  assert.deepEqual([manifest.sha256, manifest.bytes], [sha256(content), Buffer.byteLength(content)])
  assert.deepEqual(manifest.head, { seq: events.length, hash: before })
  const other = kit.replicas[1]!
  const again = await kit.clientFor(kit.adminKey, other).getAuditExportManifest({ query: { sha256: sha256(content) } })
  assert.deepEqual(again.manifest, manifest)
  assert.deepEqual(await signedManifest(kit, again), manifest)
})
