import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { changeAuditLog, fillAuditLog } from '../support/database/audit-log.ts'
import { withClient } from '../support/database/test-database.ts'
import {
  checkpointNow,
  exportNdjson,
  rehashSql,
  startVerification,
  type Verification,
} from '../support/domain/audit-verification.ts'

/** SQL changes to a row that an attacker with access to the database can make. */
const attacks: Record<string, (it: number, last: number) => string[]> = {
  changed: (it) => [
    `update audit_log set record = replace(record, '"outcome":"', '"outcome":"not ') where seq = ${it}`,
  ],
  'changed with its hash': (it) => [
    `update audit_log set record = replace(record, '"outcome":"', '"outcome":"not ') where seq = ${it}`,
    `update audit_log set hash = ${rehashSql(it)} where seq = ${it}`,
  ],
  removed: (it) => [`delete from audit_log where seq = ${it}`],
  'removed, and the others moved up': (it) => [
    `delete from audit_log where seq = ${it}`,
    `update audit_log set seq = seq - 1 where seq > ${it}`,
    'update audit_heads set seq = seq - 1',
  ],
  'put in, and the others moved down': (it) => [
    `update audit_log set seq = seq + 1 where seq >= ${it}`,
    'update audit_heads set seq = seq + 1',
    `insert into audit_log select tenant_id, ${it}, gen_random_uuid(), at, kind, outcome, actor_id, actor_name_key,
       target_id, target_name_key, source_ip, request_id, record, hash from audit_log where seq = ${it} + 1`,
    `update audit_log set hash = ${rehashSql(it)} where seq = ${it}`,
  ],
  swapped: (it, last) => [
    `update audit_log set seq = case seq when ${it} then ${it === last ? it - 1 : it + 1} else ${it} end
     where seq in (${it}, ${it === last ? it - 1 : it + 1})`,
  ],
}

test('verification of an unchanged log', async (t) => {
  const started = await startVerification(t)
  await t.test('a log verifies on the server and from a file, with and without kept checkpoints', () =>
    verifyUnchanged(started),
  )
  await t.test('checkpoints by replaced keys are still compared', () => verifyAfterKeyChange(started))
  await t.test('a deleted first event is reported although the rest can be proven', async () => {
    const { kit, verify } = started
    await changeAuditLog(kit, 'delete from audit_log where seq = 1')
    const { code, said } = await verify('--server')
    assert.deepEqual([code, said.first_bad_seq], [1, 1], JSON.stringify(said))
  })
})

test('verification of a log changed in the database', async (t) => {
  const started = await startVerification(t)
  await t.test('a row that is changed, removed, inserted or swapped is located', () => locateChangedRows(started))
  await t.test('a change of the search columns or the spelling of a row is located', () =>
    locateChangedColumns(started),
  )
  await t.test('a second event under a sequence number is found, at any page boundary of the export', () =>
    findRepeatedNumber(started),
  )
  await t.test('signatures reveal a cut tail, a reset head and a rewritten log', () => findCutOrRewritten(started))
})

async function verifyUnchanged({ kit, verify, run, file }: Verification): Promise<void> {
  const first = await verify('--server')
  assert.deepEqual([first.code, first.said.checkpoint], [0, null], 'a record that has just begun')
  await fillAuditLog(kit, 450)
  const size = await checkpointNow(kit)
  const server = await verify('--server', '--keep', file('kept.txt'))
  assert.deepEqual([server.code, server.said.verified, server.said.checkpoint], [0, true, size], JSON.stringify(server))
  assert.match(await readFile(file('kept.txt'), 'utf8'), /^holdfast\.test\/audit\/tnt_/)
  await writeFile(file('trust.json'), (await run('trust', 'show', '--json')).out)
  const text = await exportNdjson(kit)
  await writeFile(file('events.ndjson'), text)
  await writeFile(file('events.ndjson.gz'), await promisify(gzip)(text))
  const trust = ['--trust-set', file('trust.json')]
  for (const name of ['events.ndjson', 'events.ndjson.gz']) {
    const { code, said } = await verify(file(name), ...trust, '--checkpoint', file('kept.txt'))
    assert.deepEqual([code, said.checkpoint, said.manifest_is_signed], [0, size, true], JSON.stringify(said))
  }
  await writeFile(file('filtered.ndjson'), await exportNdjson(kit, { kind: 'api_key.used' }))
  assert.equal((await verify(file('filtered.ndjson'), ...trust)).said.is_filtered, true)
  await writeFile(file('cut.gz'), (await promisify(gzip)(text)).subarray(0, -20))
  const cut = await verify(file('cut.gz'), ...trust)
  assert.deepEqual([cut.code, cut.err], [2, `Error: ${file('cut.gz')} can't be read: unexpected end of file.\n`])
  assert.equal((await verify(file('nothing'), ...trust)).code, 2)
  assert.match((await verify(file('events.ndjson'))).err, /No trusted keys and no checkpoint/)
  const again = await verify('--server', '--checkpoint', file('kept.txt'), '--keep', file('kept.txt'), ...trust)
  assert.equal(again.code, 0, again.err)
}

async function verifyAfterKeyChange({ kit, verify, run, file }: Verification): Promise<void> {
  await writeFile(file('trusted.json'), (await run('trust', 'show', '--json')).out)
  const old = (await kit.admin.listSigners({ query: { purpose: 'audit-checkpoint' } })).items[0]!
  const next = await kit.admin.createSigner({ body: { purpose: 'audit-checkpoint' } })
  await kit.admin.activateSigner({ params: { signer_id: next.signer_id } })
  await kit.admin.retireSigner({ params: { signer_id: old.signer_id }, body: { compromised: true, reason: 'stolen' } })
  const pinned = ['--trust-set', file('trusted.json')]
  const { code, said, err } = await verify('--server', '--keep', file('by-others.txt'), ...pinned)
  assert.deepEqual([code, said.checkpoint, said.checkpoints_of_other_keys], [0, null, 1], JSON.stringify(said))
  await assert.rejects(readFile(file('by-others.txt')), { code: 'ENOENT' }, 'no trusted key signed it')
  assert.match(err, /No checkpoint was written/)
  const [event] = (await kit.admin.listAuditEvents({ query: { limit: 1, sort: 'seq' } })).items
  const { checkpoint } = await kit.admin.proveAuditEvent({ params: { event_id: event!.event_id } })
  assert.equal(checkpoint.kid, next.kid, 'proofs are by a key that counts')
  await writeFile(file('events.ndjson'), await exportNdjson(kit))
  assert.match((await verify(file('events.ndjson'), ...pinned)).said.why, /no signature of a trusted key/)
}

const evidence = ['audit_log', 'audit_heads', 'audit_checkpoints']
async function locateChangedRows({ kit, verify }: Verification): Promise<void> {
  await fillAuditLog(kit, 20)
  const size = await checkpointNow(kit)
  await fillAuditLog(kit, 4)
  await kit.admin.listAuditEvents()
  const settled = 'lock table audit_heads in exclusive mode;'
  await changeAuditLog(
    kit,
    settled + evidence.map((table) => `create table saved_${table} as table ${table}`).join(';'),
  )
  const saved = await withClient(kit.databaseUrl, (client) =>
    client.query('select max(seq) as last from saved_audit_log'),
  )
  const last = Number(saved.rows[0].last)
  const putBack = evidence.map((table) => `delete from ${table}; insert into ${table} table saved_${table}`).join(';')
  // Each attack is tried at three of the four sequence numbers.
  const places = [1, size - 8, size, last]
  for (const [nth, [what, attack]] of Object.entries(attacks).entries())
    for (const place of places.toSpliced(nth % 4, 1)) {
      // Behind the last checkpoint it is undecidable which of two neighbours has the wrong hash.
      if (place === last && what === 'changed with its hash') continue
      await changeAuditLog(kit, settled + putBack)
      await changeAuditLog(kit, settled + attack(place, last).join(';'))
      const { code, said } = await verify('--server')
      const expected = what === 'swapped' && place === last ? place - 1 : place
      const { first_bad_seq: first, first_bad_seq_at_most: latest = first } = said
      const why = `${what} at ${place} of ${last}: ${said.why}`
      // A hash that was recomputed or moved is only detected at the next checkpoint.
      const isBetween = place <= size && ['changed with its hash', 'swapped'].includes(what)
      if (isBetween || what.includes('moved up')) assert.ok(code === 1 && first <= expected && expected <= latest, why)
      else assert.deepEqual([code, first, latest], [1, expected, expected], why)
    }
  await changeAuditLog(kit, settled + putBack)
}

const beside: [change: string, why: RegExp][] = [
  [`kind = 'api_key.created'`, /column kind/],
  [`outcome = 'failed'`, /column outcome/],
  [`at = at + interval '1 ms'`, /column at /],
  [`event_id = gen_random_uuid()`, /column event_id/],
  [`actor_id = 'key_x'`, /column actor_id/],
  [`actor_name_key = 'zoe'`, /column actor_name_key/],
  [`actor_name_key = null`, /column actor_name_key/],
  [`target_id = 'dev_x'`, /column target_id/],
  [`target_name_key = 'x'`, /column target_name_key/],
  ['source_ip = null', /column source_ip/],
  [`request_id = 'req_x'`, /column request_id/],
  [`record = replace(record, '"origin":"api"', '"origin": "api"')`, /its hash does not match/],
  [`record = replace(record, 'Zoë', 'Zo\\u00eb')`, /its hash does not match/],
  [`record = 'null'`, /not an event/],
  [`record = jsonb_set(record::jsonb, '{actor,name}', '5')::text`, /column actor_name_key/],
  [`record = replace(record, 'Zoë', '\\ud800')`, /column|not an event|its hash does not match/],
]
async function locateChangedColumns({ kit, verify }: Verification): Promise<void> {
  await fillAuditLog(kit, 5)
  const place = (await kit.admin.listAuditEvents({ query: { kind: 'api_key.used', text: 'Zoë', limit: 1 } })).items[0]!
    .seq
  const row = `from saved_row s where l.seq = ${place}`
  await changeAuditLog(kit, `create table saved_row as select * from audit_log where seq = ${place}`)
  for (const [change, why] of beside) {
    await changeAuditLog(kit, `update audit_log set ${change} where seq = ${place}`)
    const { code, said } = await verify('--server')
    assert.deepEqual([code, said?.first_bad_seq], [1, place], `${change}: ${said?.why}`)
    assert.match(said.why, why)
    await changeAuditLog(
      kit,
      `update audit_log l set (event_id, at, kind, outcome, actor_id, actor_name_key, target_id, target_name_key, source_ip,
         request_id, record) = (s.event_id, s.at, s.kind, s.outcome, s.actor_id, s.actor_name_key, s.target_id,
         s.target_name_key, s.source_ip, s.request_id, s.record) ${row}`,
    )
  }
  await changeAuditLog(kit, `update audit_log set actor_id = 'key_x' where seq = ${place}`)
  await assert.rejects(exportNdjson(kit, { format: 'csv' }), 'it has no line for that: it is cut')
  await changeAuditLog(kit, `update audit_log l set actor_id = s.actor_id ${row}`)
  assert.equal((await verify('--server')).code, 0)
}

async function findRepeatedNumber({ kit, verify }: Verification): Promise<void> {
  await fillAuditLog(kit, 500)
  const row = `actor_id, actor_name_key, target_id, target_name_key, source_ip, request_id, record, hash from audit_log`
  for (const place of [499, 500]) {
    await changeAuditLog(
      kit,
      `insert into audit_log select tenant_id, seq, gen_random_uuid(), at, 'login.failed', outcome, ${row} where seq = ${place}`,
    )
    const { code, said } = await verify('--server')
    assert.deepEqual([code, said?.first_bad_seq], [1, place], said?.why)
    await changeAuditLog(kit, `delete from audit_log where seq = ${place} and kind = 'login.failed'`)
  }
}

async function findCutOrRewritten({ kit, verify, file }: Verification): Promise<void> {
  await fillAuditLog(kit, 20)
  const size = await checkpointNow(kit)
  assert.equal((await verify('--server', '--keep', file('kept.txt'))).code, 0)
  const cut = size - 10
  await changeAuditLog(
    kit,
    `delete from audit_log where seq > ${cut}`,
    `update audit_heads set seq = ${cut}, hash = (select hash from audit_log where seq = ${cut})`,
  )
  // Events of the verification itself now follow the cut.
  const { code, said } = await verify('--server')
  assert.deepEqual([code, said.verified], [1, false])
  assert.ok(said.first_bad_seq > 1 && said.first_bad_seq <= size, JSON.stringify(said))
  // An attacker with access to the database can also remove checkpoints, but not those kept elsewhere.
  await changeAuditLog(kit, 'delete from audit_checkpoints')
  assert.equal((await verify('--server')).code, 0)
  const kept = await verify('--server', '--checkpoint', file('kept.txt'))
  assert.deepEqual([kept.code, kept.said.verified], [1, false])
}
