import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import {
  canonicalJson,
  generateKey,
  isConsistent,
  isIncluded,
  leafHash,
  openCheckpoint,
  type PublicJwk,
  parsePublicJwk,
  rootOver,
  signCheckpoint,
  softwareSigner,
} from '@holdfast/crypto'
import type { Tx } from '../../src/db/database.ts'
import { tenantsToSign } from '../../src/modules/audit/proof/proof.queries.ts'
import { changeAuditLog, fillAuditLog, purgeAuditLog } from '../support/database/audit-log.ts'
import { type Kit, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { checkpointSizes } from '../support/domain/audit-verification.ts'

type Proof = Awaited<ReturnType<Kit['admin']['proveAuditEvent']>>
const bytes = (hex: string) => Buffer.from(hex, 'hex')
const checkpointKeys = async ({ admin }: Pick<Kit, 'admin'>): Promise<PublicJwk[]> =>
  (await admin.trustAnchors()).jwks.keys
    .filter((key) => key.holdfast_purpose.includes('audit-checkpoint'))
    .map((key) => parsePublicJwk(key))
const eventsOf = async ({ admin }: Pick<Kit, 'admin'>, most: number) => {
  const { items } = await admin.listAuditEvents({ query: { sort: 'seq', limit: most } })
  return items
}
const checkpointNow = async (kit: Kit) => {
  await eventsOf(kit, 1)
  await runJob(kit.app, 'checkpoint_audit')
  return (await kit.admin.listAuditCheckpoints({ query: { limit: 1 } })).items[0]!
}

function requireProof({ seq, hash, proof, checkpoint }: Proof, keys: readonly PublicJwk[]): void {
  const signed = openCheckpoint(checkpoint.note, keys)
  assert.deepEqual([signed.size, signed.root.toString('hex')], [checkpoint.size, checkpoint.root])
  const at = { leaf: leafHash(bytes(hash)), index: seq - 1, size: signed.size }
  assert.ok(isIncluded(at, proof.map(bytes), signed.root), `place ${seq} of ${signed.size}`)
}
/** The deployment as one of its tenants, whose audit log gets no other events. */
const withTenant = async (kit: Kit): Promise<Kit> => {
  const tenant = await kit.newTenant()
  const adminKey = await kit.keyFor('tenant_admin', tenant)
  return { ...kit, tenant, adminKey, admin: kit.clientFor(adminKey) }
}

test('proofs of the audit log, each in a tenant of its own', async (t) => {
  const shared = await startKit(t, { replicas: 2 })

  await t.test(
    'every event is proven by its content, its sequence number and a signature under the trust set',
    async () => {
      const kit = await withTenant(shared)
      await kit.admin.generateToken({ body: { name: 'one' } })
      const events = await eventsOf(kit, 200)
      const proofs: Proof[] = []
      for (const { event_id } of events) proofs.push(await kit.admin.proveAuditEvent({ params: { event_id } }))
      const keys = await checkpointKeys(kit)
      assert.equal(keys.length, 1)
      for (const [i, { seq, hash, ...event }] of events.entries()) {
        const place = Buffer.alloc(8)
        place.writeBigUInt64BE(BigInt(seq))
        const text = Buffer.from(canonicalJson(event))
        const before = bytes(proofs[i]!.previous_hash)
        const expected = createHash('sha256')
          .update(Buffer.concat([Buffer.of(0), before, place, text]))
          .digest('hex')
        assert.deepEqual([proofs[i]!.seq, proofs[i]!.hash, expected], [seq, hash, hash])
        requireProof(proofs[i]!, keys)
      }
      const { tenant_id } = await kit.admin.me()
      assert.equal(proofs[0]!.checkpoint.note.split('\n')[0], `holdfast.test/audit/${tenant_id}`)
    },
  )

  await t.test('twenty concurrent proofs on two replicas share one checkpoint per size, all of one tree', async () => {
    const kit = await withTenant(shared)
    const clients = kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))
    const [event] = (await kit.admin.listAuditEvents({ query: { limit: 1 } })).items
    const proofs = await times(20, (i) => clients[i % 2]!.proveAuditEvent({ params: { event_id: event!.event_id } }))
    const keys = await checkpointKeys(kit)
    assert.equal(keys.length, 1, 'one key, whoever was first')
    for (const proof of proofs) requireProof(proof, keys)
    const made = await checkpointSizes(kit)
    assert.equal(new Set(made).size, made.length)
    const roots = new Map(proofs.map((proof) => [proof.checkpoint.size, proof.checkpoint.root]))
    assert.ok(proofs.every(({ checkpoint }) => roots.get(checkpoint.size) === checkpoint.root))
  })

  await t.test('the list of checkpoints is paged in both directions', async () => {
    const kit = await withTenant(shared)
    for (let i = 0; i < 5; i++) {
      await kit.admin.generateToken({ body: { name: `token ${i}` } })
      await checkpointNow(kit)
    }
    const all = await checkpointSizes(kit)
    assert.equal(all.length, 5)
    for (const sort of ['size', '-size'] as const) {
      const seen: number[] = []
      for (let cursor: string | undefined; ; ) {
        const page = await kit.admin.listAuditCheckpoints({ query: { limit: 2, sort, ...(cursor && { cursor }) } })
        seen.push(...page.items.map((c) => c.size))
        if (page.next_cursor === null) break
        cursor = page.next_cursor
      }
      assert.deepEqual(seen, sort === 'size' ? all : [...all].reverse())
    }
  })
})

test('the checkpoints of a growing log cover all of it, and are consistent with each other', async (t) => {
  const kit = await startKit(t)
  const heads: { size: number; root: Buffer }[] = []
  for (const more of [1, 250, 1, 300, 513]) {
    await fillAuditLog(kit, more)
    const { size, root } = await checkpointNow(kit)
    heads.push({ size, root: bytes(root) })
  }
  await kit.db.inTenant(kit.tenant, async (tx) => {
    const rows = await tx
      .selectFrom('audit_log')
      .select('hash')
      .where('tenant_id', '=', kit.tenant)
      .orderBy('seq')
      .execute()
    const leaves = rows.map(({ hash }) => leafHash(hash))
    for (const { size, root } of heads) assert.ok(rootOver(leaves.slice(0, size)).equals(root), `of ${size}`)
    const tiles = await tx
      .selectFrom('audit_tiles')
      .select(['level', 'number'])
      .where('tenant_id', '=', kit.tenant)
      .execute()
    assert.equal(tiles.length, Math.floor(heads.at(-1)!.size / 256))
  })
  for (const from of heads)
    for (const to of heads.filter((head) => head.size >= from.size)) {
      const { proof } = await kit.admin.proveAuditConsistency({ query: { from: from.size, to: to.size } })
      assert.ok(isConsistent(from, to, proof.map(bytes)), `${from.size} → ${to.size}`)
    }
  const { items } = await kit.admin.listAuditCheckpoints({ query: { limit: 2 } })
  assert.deepEqual(
    items.map((c) => c.size),
    heads
      .slice(-2)
      .map((h) => h.size)
      .reverse(),
  )
  await assert.rejects(kit.admin.proveAuditConsistency({ query: { from: 2, to: 1 } }), { code: 'bad_request' })
  await assert.rejects(kit.admin.proveAuditConsistency({ query: { from: 1, to: 10_000_000 } }), { code: 'bad_request' })
  const quiet = await kit.newTenant()
  const theirs = kit.clientFor(await kit.keyFor('auditor', quiet))
  await theirs.listAuditCheckpoints()
  await runJob(kit.app, 'checkpoint_audit')
  const before = (await theirs.listAuditCheckpoints()).items.length
  assert.equal(before, 1, 'each tenant has its own')
})

test('purged events stay provable wherever the purge cuts a tile, since their hashes are kept', async (t) => {
  const kit = await startKit(t)
  await fillAuditLog(kit, 700)
  const before = await checkpointNow(kit)
  const events = await eventsOf(kit, 200)
  const head = ({ size, root }: typeof before) => ({ size, root: bytes(root) })
  const requireGrown = async () => {
    const after = await checkpointNow(kit)
    const { proof } = await kit.admin.proveAuditConsistency({ query: { from: before.size, to: after.size } })
    assert.ok(isConsistent(head(before), head(after), proof.map(bytes)))
  }
  const leaves = async () => {
    const all = (tx: Tx) => tx.selectFrom('audit_leaves').select('seq').orderBy('seq').execute()
    return (await kit.db.inTenant(kit.tenant, all)).map(({ seq }) => seq)
  }
  await purgeAuditLog(kit, 512)
  assert.deepEqual(await leaves(), [])
  await purgeAuditLog(kit, 600)
  assert.deepEqual([(await leaves())[0], (await leaves()).length], [513, 88])
  await fillAuditLog(kit, 10)
  await requireGrown()
  await fillAuditLog(kit, 300)
  await requireGrown()
  await purgeAuditLog(kit, 601)
  assert.deepEqual(await leaves(), [], 'their tile has them')
  const [first] = await eventsOf(kit, 1)
  assert.equal(first?.seq, 602)
  const proven = await kit.admin.proveAuditEvent({ params: { event_id: first!.event_id } })
  requireProof(proven, await checkpointKeys(kit))
  const params = { event_id: events[0]!.event_id }
  await assert.rejects(kit.admin.proveAuditEvent({ params }), { code: 'not_found' })
})

test('no checkpoint is signed that contradicts an earlier one', async (t) => {
  const attacks: Record<string, (kit: Kit, size: number) => Promise<unknown>> = {
    'a changed hash': (kit) => changeAuditLog(kit, `update audit_log set hash = sha256('x') where seq = 3`),
    'a deleted event': (kit) => changeAuditLog(kit, 'delete from audit_log where seq = 3'),
    'a log that was reset': (kit, size) =>
      changeAuditLog(
        kit,
        `delete from audit_log where seq > ${size - 2}`,
        `update audit_heads set seq = ${size - 2}, hash = (select hash from audit_log where seq = ${size - 2})`,
      ),
    'a checkpoint replaced by one of another key': async (kit, size) => {
      const forger = softwareSigner('audit-checkpoint', generateKey('Ed25519').privateJwk)
      const [old] = (await kit.admin.listAuditCheckpoints({ query: { limit: 1 } })).items
      const note = await signCheckpoint(
        { origin: old!.note.split('\n')[0]!, size, root: leafHash(bytes('00')) },
        forger,
      )
      await changeAuditLog(kit, `update audit_checkpoints set note = '${note}' where size = ${size}`)
    },
  }
  for (const [what, attack] of Object.entries(attacks))
    await t.test(what, async (t) => {
      const kit = await startKit(t)
      await fillAuditLog(kit, 5)
      const { size } = await checkpointNow(kit)
      await attack(kit, size)
      const left = await checkpointSizes(kit)
      await fillAuditLog(kit, 5)
      await assert.rejects(runJob(kit.app, 'checkpoint_audit'), /^BrokenRecord: the audit log of tnt_/)
      assert.deepEqual(await checkpointSizes(kit), left)
    })
})

test('all checkpoints of a week are kept, then one per day, then one per month; no other can be deleted', async (t) => {
  const kit = await startKit(t)
  const ago = (days: number, hour: number) => {
    const at = new Date(Date.now() - days * 86_400_000)
    return new Date(at.setUTCHours(hour, 0, 0, 0))
  }
  const inMonthAgo = (months: number, day: number) => {
    const at = new Date()
    return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() - months, day))
  }
  const made = [
    ...[inMonthAgo(20, 5), inMonthAgo(20, 25), inMonthAgo(19, 1), inMonthAgo(19, 2)],
    ...[ago(30, 9), ago(29, 10), ago(29, 11), ago(6, 9), ago(6, 10)],
  ]
  await changeAuditLog(
    kit,
    'delete from audit_checkpoints',
    `insert into audit_checkpoints (tenant_id, size, kid, note, created_at) select '${kit.tenant}', i, 'kid', 'note', at
     from unnest('{${made.map((at) => at.toISOString()).join()}}'::timestamptz[]) with ordinality as m (at, i)`,
  )
  const left = () =>
    kit.db.inTenant(kit.tenant, async (tx) =>
      (await tx.selectFrom('audit_checkpoints').select('size').orderBy('size').execute()).map(({ size }) => size),
    )
  for (const size of [2, 4, 5, 7, 8, 9])
    await assert.rejects(
      changeAuditLog(kit, { triggers: true }, `delete from audit_checkpoints where size = ${size}`),
      /append-only/,
    )
  await runJob(kit.app, 'forget_what_is_over')
  assert.deepEqual(await left(), [2, 4, 5, 7, 8, 9])
})

test('a tenant without new events is skipped', async (t) => {
  const kit = await startKit(t)
  const asked = () => kit.db.acrossTenants(tenantsToSign)
  const other = await kit.newTenant()
  await fillAuditLog(kit, 1)
  await until(async () => (await asked()).includes(other), 'the events of its creation are sequenced')
  await runJob(kit.app, 'checkpoint_audit')
  assert.deepEqual(await asked(), [])
  await fillAuditLog(kit, 1)
  assert.deepEqual(await asked(), [kit.tenant])
})

test('checkpoints and tiles are append-only, even for their owner', async (t) => {
  const kit = await startKit(t)
  await fillAuditLog(kit, 300)
  await checkpointNow(kit)
  for (const table of ['audit_tiles', 'audit_checkpoints'])
    for (const change of [`update ${table} set tenant_id = tenant_id`, `delete from ${table}`, `truncate ${table}`])
      await assert.rejects(changeAuditLog(kit, { triggers: true }, change), /append-only/, change)
})
