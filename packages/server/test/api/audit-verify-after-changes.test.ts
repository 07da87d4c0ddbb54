import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { changeAuditLog, fillAuditLog, purgeAuditLog } from '../support/database/audit-log.ts'
import type { Kit } from '../support/deployment/deployment.ts'
import { sha256 } from '../support/domain/audit-exports.ts'
import { checkpointNow, exportNdjson, rehashSql, startVerification } from '../support/domain/audit-verification.ts'

test('a purged log verifies from its new beginning, with a checkpoint from before', async (t) => {
  const { kit, verify, file } = await startVerification(t)
  await fillAuditLog(kit, 250)
  const size = await checkpointNow(kit)
  assert.equal((await verify('--server', '--keep', file('kept.txt'))).code, 0)
  await purgeAuditLog(kit, 120)
  await fillAuditLog(kit, 60)
  const { code, said, err } = await verify('--server', '--checkpoint', file('kept.txt'))
  assert.deepEqual([code, said.first_seq], [0, 121], JSON.stringify(said))
  assert.match(err, /The events begin at sequence number 121/)
  const [end] = (await exportNdjson(kit)).trimEnd().split('\n').slice(-1)
  const { hash } = (await kit.admin.getRetention()).record_begins_after!
  assert.equal(JSON.parse(end!).manifest.hash_before_first, hash)
  await changeAuditLog(kit, `update audit_log set record = replace(record, 'api_key', 'api-key') where seq = 121`)
  assert.equal((await verify('--server')).said.first_bad_seq, 121)
  await changeAuditLog(kit, `update audit_log set record = replace(record, 'api-key', 'api_key') where seq = 121`)

  await t.test('a checkpoint from before the beginning is still compared', async () => {
    await purgeAuditLog(kit, size + 30)
    assert.equal((await verify('--server')).code, 0, 'alone it is one record')
    const { code, said, err } = await verify('--server', '--checkpoint', file('kept.txt'))
    assert.deepEqual([code, said?.verified, said?.first_bad_seq], [0, true, undefined], `${said?.why} ${err}`)
  })
  await t.test('a server that cannot prove the purged part gives no verdict', async () => {
    await changeAuditLog(kit, 'delete from audit_leaves')
    const { code, said, err } = await verify('--server')
    assert.deepEqual([code, said], [2, undefined])
    assert.match(err, /was not verified/)
  })
})

/** Rewrites the log from a sequence number on. */
const rewrite = (kit: Kit, from: number) =>
  changeAuditLog(
    kit,
    `lock table audit_heads in exclusive mode;
     update audit_log set record = replace(record, '"origin":"', '"origin":"not ') where seq = ${from};
     do $$ begin
       for it in ${from}..(select max(seq) from audit_log) loop
         update audit_log set hash = ${rehashSql('it')} where seq = it;
       end loop;
     end $$;
     update audit_heads h set hash = (select hash from audit_log l where l.seq = h.seq)`,
  )

test('a checkpoint from before the beginning reveals a rewritten log', async (t) => {
  const { kit, verify, file } = await startVerification(t)
  await fillAuditLog(kit, 20)
  const size = await checkpointNow(kit)
  assert.equal((await verify('--server', '--keep', file('kept.txt'))).code, 0)
  await changeAuditLog(kit, 'create table signed as table audit_checkpoints', 'delete from audit_checkpoints')
  await rewrite(kit, 5)
  await fillAuditLog(kit, 60)
  await purgeAuditLog(kit, size + 30)
  assert.equal((await verify('--server')).code, 0, 'alone it is one record')
  const { code, said, err } = await verify('--server', '--checkpoint', file('kept.txt'))
  assert.deepEqual([code, said?.verified, said?.first_bad_seq], [1, false, 1], `${said?.why} ${err}`)
  assert.match(said.why, new RegExp(`from here to sequence number ${size} `))
  // The old checkpoints stand beside those that the server signs now.
  await changeAuditLog(kit, 'insert into audit_checkpoints table signed')
  const alone = await verify('--server')
  assert.deepEqual([alone.code, alone.said?.first_bad_seq], [1, 1], `${alone.said?.why} ${alone.err}`)
})

test('a file reveals a log with recomputed hashes by the checkpoint in its manifest', async (t) => {
  const { kit, verify, run, file } = await startVerification(t)
  await writeFile(file('trust.json'), (await run('trust', 'show', '--json')).out)
  const verified = async (name: string) => {
    await writeFile(file(name), await exportNdjson(kit))
    return verify(file(name), '--trust-set', file('trust.json'))
  }
  await fillAuditLog(kit, 300)
  const none = await verified('none.ndjson')
  assert.deepEqual([none.code, none.said.checkpoint], [0, null], 'nothing is signed yet')
  const size = await checkpointNow(kit)
  await fillAuditLog(kit, 5)
  const right = await verified('right.ndjson')
  assert.deepEqual([right.code, right.said.checkpoint], [0, size], JSON.stringify(right.said))
  const csv = await exportNdjson(kit, { format: 'csv' })
  const { manifest } = await kit.admin.getAuditExportManifest({ query: { sha256: sha256(csv) } })
  const [newest] = (await kit.admin.listAuditCheckpoints({ query: { limit: 1 } })).items
  assert.equal(manifest.checkpoint, newest!.note, 'every format')
  await changeAuditLog(
    kit,
    `update audit_log set record = replace(record, '"origin":"', '"origin":"not ') where seq = 100`,
    `update audit_log set hash = ${rehashSql(100)} where seq = 100`,
  )
  const { said: between } = await verified('one.ndjson')
  assert.deepEqual([between.first_bad_seq, between.first_bad_seq_at_most], [1, 101], between.why)
  const { said: proven } = await verify('--server')
  assert.equal(proven.first_bad_seq, 100, 'a proof of the server narrows the position')
  await rewrite(kit, 100)
  const { code, said } = await verified('anew.ndjson')
  assert.deepEqual([code, said.first_bad_seq, said.first_bad_seq_at_most], [1, 1, size], said.why)
  assert.equal((await verify('--server')).code, 1)
})
