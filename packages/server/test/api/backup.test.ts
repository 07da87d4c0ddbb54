import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { isConsistent, peekCheckpoint } from '@holdfast/crypto'
import { startCommand } from '../support/clients/cli-command.ts'
import { fillRecord } from '../support/database/audit-log.ts'
import { withClient } from '../support/database/test-database.ts'
import { startDrill, within } from '../support/deployment/backup-drill.ts'
import { type Kit, runJob } from '../support/deployment/deployment.ts'

type Signed = { origin: string; size: number; root: Buffer }
async function sign(kit: Kit): Promise<Signed> {
  await runJob(kit.app, 'checkpoint_audit')
  const [newest] = (await kit.admin.listAuditCheckpoints({ query: { limit: 1 } })).items
  return peekCheckpoint(newest!.note)
}
const hashes = (proof: readonly string[]) => proof.map((hash) => Buffer.from(hash, 'hex'))

test('a restored record is another log from there on: it is verified with what was kept of before, and contradicts nothing', async (t) => {
  const { kit, file, backUp, restore } = await startDrill(t)
  const there = await startCommand(within(kit), kit)
  await fillRecord(kit, 300)
  const before = await sign(kit)
  assert.equal((await there.run('audit', 'verify', '--server', '--keep', file('before.txt'))).code, 0)
  await backUp()
  await fillRecord(kit, 40)
  const after = await sign(kit)
  assert.equal(after.origin, before.origin)
  assert.equal((await there.run('audit', 'verify', '--server', '--keep', file('after.txt'))).code, 0)

  const back = await restore()
  const { items } = await back.admin.listAuditEvents({ query: { kind: 'deployment.fenced' } })
  const fenced = items[0]!
  await fillRecord(back, 0)
  const { rows } = await withClient(back.databaseUrl, (client) =>
    client.query<{ seq: string }>('select seq from audit_heads where tenant_id = $1', [back.tenant]),
  )
  await fillRecord(back, after.size - Number(rows[0]!.seq))
  const again = await sign(back)
  assert.equal(again.size, after.size)
  assert.ok(!again.root.equals(after.root))
  assert.equal(again.origin, `${before.origin}/${fenced.timestamp}`, 'of as many places, but of another log')
  const { proof } = await back.admin.proveAuditConsistency({ query: { from: before.size, to: again.size } })
  assert.ok(isConsistent(before, again, hashes(proof)), 'which goes on from what was signed before the backup')
  const here = await startCommand(within(kit), back)
  const verify = (...args: string[]) => here.run('audit', 'verify', '--server', '--json', ...args)
  const kept = await verify('--checkpoint', file('before.txt'), '--keep', file('now.txt'))
  assert.deepEqual([kept.code, kept.err], [0, ''])
  assert.match(await readFile(file('now.txt'), 'utf8'), new RegExp(`^${again.origin}\n`))
  const lost = await verify('--checkpoint', file('after.txt'))
  const { first_bad_seq, why } = JSON.parse(lost.out)
  assert.equal(lost.code, 1)
  assert.ok(first_bad_seq > before.size && first_bad_seq <= fenced.seq, `${first_bad_seq}: ${why}`)
  assert.match(why, /set back to a backup/)
})
