import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'csv-parse/sync'
import { refused } from '../support/actors/gateways.ts'
import { type Kit, startKit, times } from '../support/deployment/deployment.ts'
import { exported, hashOf, readNdjson, sha256, signedManifest } from '../support/domain/audit-exports.ts'

const manifestOf = (kit: Pick<Kit, 'admin'>, content: string) =>
  kit.admin.getAuditExportManifest({ query: { sha256: sha256(content) } })

test('NDJSON: every event in its place, each in the hash of the next, and a signed manifest at the end', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const [, other] = kit.replicas
  await times(20, (i) =>
    kit.clientFor(kit.adminKey, kit.replicas[i % 2]).generateToken({ body: { name: `token ${i}` } }),
  )
  const { status, headers, text } = await exported(kit, 'format=ndjson')
  assert.deepEqual([status, headers['content-type']], [200, 'application/x-ndjson'])
  assert.match(String(headers['content-disposition']), /^attachment; filename="audit-\d{8}T\d{6}Z\.ndjson"$/)
  assert.match(String(headers['cache-control']), /no-store/)
  assert.equal(headers['x-content-type-options'], 'nosniff')
  const { events, content, signed } = readNdjson(text)
  let before = '00'.repeat(32)
  for (const [i, event] of events.entries()) {
    assert.equal(event.seq, i + 1)
    assert.equal(event.hash, hashOf(before, event), `place ${event.seq}`)
    before = event.hash
  }
  assert.equal(events.filter(({ kind }) => kind === 'enrollment_token.created').length, 20)
  const { manifest } = signed
  assert.deepEqual(await signedManifest(kit, signed), manifest)
  assert.deepEqual(
    [manifest.format, manifest.filter, manifest.events, manifest.first_seq, manifest.last_seq, manifest.hash_of_last],
    ['ndjson', {}, events.length, 1, events.length, before],
  )
  assert.deepEqual([manifest.sha256, manifest.bytes], [sha256(content), Buffer.byteLength(content)])
  assert.deepEqual(manifest.head, { seq: events.length, hash: before })
  const again = await manifestOf({ admin: kit.clientFor(kit.adminKey, other) }, content)
  assert.deepEqual(again.manifest, manifest)
  assert.deepEqual(await signedManifest(kit, again), manifest)
})

test('JSON, CSV and syslog hold the same events; what has no place for a manifest has one by its digest', async (t) => {
  const kit = await startKit(t)
  await times(5, (i) => kit.admin.generateToken({ body: { name: `token ${i}` } }))
  const filter = 'kind=enrollment_token.created'
  const { events } = readNdjson((await exported(kit, `format=ndjson&${filter}`)).text)
  assert.equal(events.length, 5)

  const json = await exported(kit, filter)
  assert.equal(json.headers['content-type'], 'application/json')
  const whole = JSON.parse(json.text) as {
    events: unknown[]
    manifest: { sha256: string; format: string }
    jws: string
  }
  assert.deepEqual(whole.events, events)
  const beforeLast = json.text.slice(0, json.text.lastIndexOf('\n', json.text.length - 2) + 1)
  assert.deepEqual([whole.manifest.format, whole.manifest.sha256], ['json', sha256(beforeLast)])

  const csv = await exported(kit, `format=csv&${filter}`)
  assert.equal(csv.headers['content-type'], 'text/csv; charset=utf-8; header=present')
  const rows = parse<Record<string, string>>(csv.text, { columns: true, record_delimiter: '\r\n' })
  assert.deepEqual(
    rows.map(({ seq, hash, record }) => ({ ...(JSON.parse(record!) as object), seq: Number(seq), hash })),
    events,
  )

  const path = '/v1/audit/export/syslog'
  const syslog = await exported(kit, filter, { path })
  assert.equal(syslog.headers['content-type'], 'text/plain; charset=utf-8')
  const lines = syslog.text.split('\n')
  assert.equal(lines.pop(), '')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line.slice(line.indexOf('\ufeff') + 1)) as unknown),
    events,
  )
  const counted = await exported(kit, `framing=octet-counting&${filter}`, { path })
  assert.equal(counted.text, lines.map((line) => `${Buffer.byteLength(line)} ${line}`).join(''))

  for (const { text } of [csv, syslog, counted]) {
    const signed = await manifestOf(kit, text)
    assert.equal((await signedManifest(kit, signed)).events, 5)
    await assert.rejects(manifestOf(kit, text.slice(0, -1)), refused(404))
  }
})

test('what attackers choose stays one record of the event it belongs to, by a real request, in every format', async (t) => {
  const kit = await startKit(t)
  // Values that Node allows in a header; a username may hold any text.
  const agents = ['=cmd|x!A1', '\t=1+1', '@SUM(1)', 'a","b', '"] evil="', 'x\\', 'a=b|c', '<13>1 - evil']
  const names = ['\r\n<86>1 forged', '\u001b[2J', '\u2028=1', '＝1', 'a\n"forged"', '\v=1', '\r=1', '"}\n{"kind":1}']
  for (const [i, agent] of agents.entries()) {
    const body = JSON.stringify({ username: names[i], password: 'wrong' })
    const headers = { 'content-type': 'application/json', origin: kit.publicUrl, 'user-agent': agent }
    const answer = await fetch(`${kit.url}/admin/login`, { method: 'POST', body, headers })
    assert.equal(answer.status, 401, await answer.text())
  }
  const { events } = readNdjson((await exported(kit, 'format=ndjson&kind=login.failed')).text)
  assert.deepEqual(
    events.map((e) => e.user_agent),
    agents.map((agent) => agent.trim()),
  )
  assert.equal(events.length, agents.length)
  const read = (await exported(kit, 'format=csv&kind=login.failed')).text
  const rows = parse<Record<string, string>>(read, { columns: true, record_delimiter: '\r\n' })
  assert.deepEqual(
    rows.map(({ seq, hash, record }) => ({ ...(JSON.parse(record!) as object), seq: Number(seq), hash })),
    events,
  )
  for (const cell of rows.flatMap((row) => Object.values(row))) assert.doesNotMatch(cell, /^\s*[=+\-@＝＋－＠]/u)
  const syslog = await exported(kit, 'kind=login.failed', { path: '/v1/audit/export/syslog' })
  const lines = syslog.text.split(/[\n\r\u0085\u2028\u2029]/)
  assert.equal(lines.length, agents.length + 1)
  for (const [i, line] of lines.slice(0, -1).entries()) {
    assert.match(
      line,
      /^<84>1 \S+ holdfast\.test holdfast - login\.failed \[audit@\d+ (?:\w+="(?:[^"\\\]]|\\["\\\]])*" ?)+\] \ufeff\{/,
    )
    assert.deepEqual(JSON.parse(line.slice(line.indexOf('\ufeff') + 1)), events[i])
  }
  const json = JSON.parse((await exported(kit, 'kind=login.failed')).text) as { events: unknown[] }
  assert.deepEqual(json.events, events)
})

test('filters are those of the list, and stand in the manifest; a moment that does not exist is refused', async (t) => {
  const kit = await startKit(t)
  const auditor = await kit.as('auditor')
  await times(3, (i) => kit.admin.generateToken({ body: { name: `token ${i}` } }))
  const { items } = await kit.admin.listAuditEvents({ query: { kind: 'enrollment_token.created' } })
  const newest = items[0]!
  const read = async (query: Record<string, string>) =>
    readNdjson((await exported(kit, new URLSearchParams({ format: 'ndjson', ...query }).toString())).text)
  const target = newest.target!.id!
  const { events, signed } = await read({ target_id: target })
  assert.deepEqual(
    events.map((e) => e.event_id),
    [newest.event_id],
  )
  assert.deepEqual(signed.manifest.filter, { target_id: target })
  assert.equal(signed.manifest.hash_before_first !== null, true)
  assert.deepEqual(await signedManifest(kit, signed), signed.manifest)
  const words = await read({ kind: 'enrollment_token.*,login.failed', text: target, origin: 'api' })
  assert.deepEqual(words.events, events)
  const behind = await read({ after_seq: String(newest.seq - 1), kind: 'enrollment_token.created' })
  assert.deepEqual(behind.events.map((e) => e.seq).includes(newest.seq), true)
  assert.ok(behind.events.every((e) => e.seq >= newest.seq))
  const none = await read({ from: '2001-01-01T00:00:00Z', to: '2001-01-02T00:00:00Z', q: 'a\ufeff"\n' })
  assert.deepEqual(
    [none.events, none.signed.manifest.events, none.signed.manifest.first_seq, none.signed.manifest.hash_of_last],
    [[], 0, null, null],
  )
  assert.deepEqual(await signedManifest(kit, await manifestOf(kit, '')), none.signed.manifest)
  assert.deepEqual(await signedManifest(kit, none.signed), none.signed.manifest)
  for (const format of ['json', 'ndjson']) {
    const { text } = await exported(kit, `format=${format}&q=${encodeURIComponent('a\u2028\ufeff\u202e')}`)
    assert.doesNotMatch(text, /[\u2028\ufeff\u202e]/, 'also the manifest is one line')
    const { manifest, jws } = JSON.parse(text) as Parameters<typeof signedManifest>[1]
    assert.deepEqual(await signedManifest(kit, { manifest, jws }), manifest)
  }
  const leap = await exported(kit, 'from=2016-12-31T23:59:60Z')
  assert.deepEqual([leap.status, leap.text.includes('from')], [400, true])
  assert.equal((await exported(kit, 'limit=5')).status, 400)
  assert.equal((await exported(kit, 'format=xml')).status, 400)
  await assert.rejects((await kit.as('helpdesk')).exportAudit({ query: {} }), refused(403))
  assert.ok((await Array.fromAsync(await auditor.exportAudit({ query: {} }))).length > 0)
})

/** Adds this number of events; all have their sequence numbers on return. */
