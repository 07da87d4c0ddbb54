import assert from 'node:assert/strict'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { saveAuditExport, VerificationError } from '@holdfast/sdk'
import { refused } from '../support/clients/answers.ts'
import { startCommand } from '../support/clients/cli-command.ts'
import { startKit, times } from '../support/deployment/deployment.ts'
import { readNdjson, sha256 } from '../support/domain/audit-exports.ts'

test('holdfast audit export writes a complete signed file of each format, or none', async (t) => {
  const kit = await startKit(t)
  const { run, file } = await startCommand(t, kit)
  await times(3, (i) => kit.admin.generateToken({ body: { name: `token ${i}` } }))
  for (const format of ['csv', 'json', 'ndjson', 'syslog']) {
    const at = file(`events.${format}`)
    const done = await run('audit', 'export', '--format', format, '--from', '1h', '--out', at, '--json')
    assert.deepEqual([done.code, done.err], [0, ''])
    const said = JSON.parse(done.out) as { file: string; sha256: string; bytes: number; format: string }
    assert.deepEqual([said.file, said.format], [at, format])
    const bytes = await readFile(at)
    assert.equal(sha256(bytes.subarray(0, said.bytes)), said.sha256)
    assert.equal(bytes.length === said.bytes, format === 'csv' || format === 'syslog')
  }
  const kept = await readFile(file('events.csv'))
  const again = await run('audit', 'export', '--format', 'csv', '--out', file('events.csv'))
  assert.equal(again.code, 2)
  assert.match(again.err, /exists already/)
  assert.deepEqual(await readFile(file('events.csv')), kept)

  const piped = await run('audit', 'export', '--kind', 'enrollment_token.created')
  assert.deepEqual([piped.code, readNdjson(piped.out).events.length], [0, 3])
  assert.match(piped.err, /^3 events, sequence numbers \d+ to \d+; SHA-256 [0-9a-f]{64}, signed\.\n$/)
  const none = await run('audit', 'export', '--from', '2001-01-01T00:00:00Z', '--to', '2001-01-02T00:00:00Z')
  assert.match(none.err, /^0 events; /)

  await writeFile(file('trust-set.json'), (await run('trust', 'show', '--json')).out)
  const trusted = await run('audit', 'export', '--trust-set', file('trust-set.json'), '--out', file('trusted.ndjson'))
  assert.deepEqual([trusted.code, trusted.err], [0, ''])
  const other = await run('audit', 'export', '--out', file('no/such/folder'))
  assert.equal(other.code, 2)
  assert.deepEqual(
    (await readdir(dirname(file('x')))).filter((name) => name.endsWith('.part')),
    [],
  )
})

test('a CSV or syslog file is verified offline with the signed manifest beside it', async (t) => {
  const kit = await startKit(t)
  const { run, file } = await startCommand(t, kit)
  await kit.admin.generateToken({ body: { name: 'token' } })
  const trust = file('trust-set.json')
  await writeFile(trust, (await run('trust', 'show', '--json')).out)
  for (const format of ['csv', 'syslog']) {
    const [at, beside] = [file(`events.${format}`), file(`events.${format}.manifest.json`)]
    await writeFile(beside, 'somebody else’s')
    assert.equal((await run('audit', 'export', '--format', format, '--out', at)).code, 2, 'nothing is overwritten')
    await rm(beside)
    const exported = JSON.parse((await run('audit', 'export', '--format', format, '--out', at, '--json')).out)
    assert.equal(exported.manifest_file, beside)
    const verify = async (...more: string[]) => {
      const { code, out, err } = await run('audit', 'verify', at, '--manifest', beside, '--json', ...more)
      return { code, err, said: out === '' ? undefined : JSON.parse(out) }
    }
    const whole = await verify('--trust-set', trust)
    assert.deepEqual([whole.code, whole.said.verified, whole.said.sha256], [0, true, exported.sha256])
    assert.match(whole.err, /not each event/)
    assert.equal((await verify()).code, 2, 'the keys are missing')
    assert.equal((await verify('--trust-set', trust, '--checkpoint', trust)).code, 2)

    const bytes = await readFile(at)
    for (const [content, why] of [
      [bytes.subarray(0, -1), /bytes were exported, and the file has/],
      [Buffer.from(bytes.toString().replace('token', 'taken')), /differs from the export/],
    ] as const) {
      await writeFile(at, content)
      const { code, said } = await verify('--trust-set', trust)
      assert.deepEqual([code, said.verified, said.first_bad_seq], [1, false, null])
      assert.match(said.why, why)
    }
    await writeFile(at, bytes)
    const signed = JSON.parse(await readFile(beside, 'utf8'))
    const forged = { ...signed, manifest: { ...signed.manifest, events: 1 } }
    await writeFile(beside, JSON.stringify(forged))
    assert.match((await verify('--trust-set', trust)).said.why, /differs from the signed/)
    await writeFile(beside, '{}')
    assert.match((await verify('--trust-set', trust)).err, /has no signed manifest/)
  }
})

test('an export that is interrupted, altered or signed by another key leaves no file', async (t) => {
  const kit = await startKit(t)
  const { file } = await startCommand(t, kit)
  await times(3, (i) => kit.admin.generateToken({ body: { name: `token ${i}` } }))
  /** The same client, with the bytes of the answer changed on the way. */
  const through = (change: (bytes: Buffer) => Buffer) => {
    const altered = async (answer: Promise<AsyncIterable<Uint8Array>>) => {
      const bytes = change(Buffer.concat(await Array.fromAsync(await answer)))
      return (async function* () {
        for (let at = 0; at < bytes.length; at += 700) yield bytes.subarray(at, at + 700)
      })()
    }
    const { admin } = kit
    return {
      exportAudit: (...given: Parameters<typeof admin.exportAudit>) => altered(admin.exportAudit(...given)),
      exportAuditSyslog: (...given: Parameters<typeof admin.exportAuditSyslog>) =>
        altered(admin.exportAuditSyslog(...given)),
      getAuditExportManifest: admin.getAuditExportManifest,
      trustAnchors: admin.trustAnchors,
    }
  }
  const same = (bytes: Buffer) => bytes
  const lastLine = (bytes: Buffer) => bytes.lastIndexOf('\n', bytes.length - 2) + 1
  const changes: [string, (bytes: Buffer) => Buffer, string[]][] = [
    ['cut after a line', (b) => b.subarray(0, lastLine(b)), ['malformed']],
    ['cut in a line', (b) => b.subarray(0, b.length - 30), ['malformed']],
    ['a line less', (b) => b.subarray(b.indexOf('\n') + 1), ['wrong_digest', 'malformed']],
    ['one letter', (b) => Buffer.from(b.toString().replace('token 1', 'token 7')), ['wrong_digest', 'malformed']],
    ['nothing', () => Buffer.alloc(0), ['malformed']],
  ]
  for (const format of ['csv', 'json', 'ndjson', 'syslog'] as const) {
    const path = file(`events.${format}`)
    for (const [what, change, codes] of changes)
      await assert.rejects(
        saveAuditExport(through(change), { format }, path),
        (e) => e instanceof VerificationError && codes.includes(e.code),
        `${format}: ${what}`,
      )
    const { jwks } = await kit.admin.trustAnchors()
    const none = { jwks: { ...jwks, keys: jwks.keys.filter((k) => !k.holdfast_purpose.includes('audit-checkpoint')) } }
    await assert.rejects(
      saveAuditExport(through(same), { format }, path, { trust: none }),
      (e) => e instanceof VerificationError && e.code === 'unknown_key',
    )
    assert.deepEqual(await readdir(dirname(path)), [])
    await assert.rejects(saveAuditExport(kit.admin, { format }, path, { signal: AbortSignal.abort() }))
    assert.deepEqual(await readdir(dirname(path)), [])
    const { manifest } = await saveAuditExport(through(same), { format }, path)
    assert.equal((await readFile(path)).length >= manifest.bytes, true)
    for (const name of await readdir(dirname(path))) await rm(file(name))
  }
})

test('an export without events has its own manifest, which does not fit another filter', async (t) => {
  const kit = await startKit(t)
  const { file } = await startCommand(t, kit)
  const never = { from: '2001-01-01T00:00:00Z', to: '2001-01-02T00:00:00Z' }
  for (const format of ['csv', 'syslog'] as const) {
    const path = file(`none.${format}`)
    const asked = { format, kind: 'login.failed', ...never }
    const { manifest } = await saveAuditExport(kit.admin, asked, path)
    const { sha256 } = manifest
    const { manifest: other } = await saveAuditExport(kit.admin, { format, ...never }, file(`other.${format}`))
    assert.deepEqual([other.sha256, other.filter], [sha256, never], 'the same bytes')
    const known = await kit.admin.getAuditExportManifest({ query: { sha256, ...asked } })
    assert.deepEqual(known.manifest, manifest)
    const last = await kit.admin.getAuditExportManifest({ query: { sha256 } })
    assert.deepEqual(last.manifest, other)
    await assert.rejects(
      kit.admin.getAuditExportManifest({ query: { sha256, ...asked, kind: 'login.*' } }),
      refused(404),
    )
    await assert.rejects(kit.admin.getAuditExportManifest({ query: { sha256, ...never } }), refused(400))
    const { exportAudit, exportAuditSyslog, trustAnchors } = kit.admin
    const swapped = { exportAudit, exportAuditSyslog, trustAnchors, getAuditExportManifest: async () => last }
    await assert.rejects(
      saveAuditExport(swapped, asked, file('swapped')),
      (e) => e instanceof VerificationError && e.code === 'wrong_digest',
    )
  }
})
