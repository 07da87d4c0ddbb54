import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fillAuditLog } from '../support/database/audit-log.ts'
import { runJob, startKit } from '../support/deployment/deployment.ts'
import { askPython, without } from './tools.ts'

type Answer = {
  chain: number | null
  checkpoints: { origin: string; size: number; fits: boolean }[]
  proofs: boolean[]
  consistencies: boolean[]
  forged: boolean[]
  bad: (number | null)[]
}

test('a program written from docs/audit-verify.md alone computes the same chain, roots, proofs and signatures', {
  skip: without('python3'),
}, async (t) => {
  const kit = await startKit(t)
  for (const more of [3, 300]) {
    await kit.admin.generateToken({ body: { name: `Größe "${more}" 🔒` } })
    await fillAuditLog(kit, more)
    await kit.admin.listAuditEvents()
    await runJob(kit.app, 'checkpoint_audit')
  }
  const checkpoints = (await kit.admin.listAuditCheckpoints({ query: { sort: 'size' } })).items
  const sizes = checkpoints.map((c) => c.size)
  assert.equal(sizes.length, 2)
  const [first = 0, last = 0] = sizes
  const events: Awaited<ReturnType<typeof kit.admin.listAuditEvents>>['items'] = []
  for (let cursor: string | undefined; events.length < last; ) {
    const page = await kit.admin.listAuditEvents({ query: { sort: 'seq', limit: 200, ...(cursor && { cursor }) } })
    events.push(...page.items)
    cursor = page.next_cursor ?? undefined
    assert.ok(cursor !== undefined || events.length >= last, 'the record is shorter than its checkpoint')
  }
  const proofs = await Promise.all(
    [1, 2, first, 256, 257, last].map((seq) =>
      kit.admin.proveAuditEvent({ params: { event_id: events[seq - 1]!.event_id } }),
    ),
  )
  const consistencies = await Promise.all(
    [1, 2, first, 256, last].map((from) => kit.admin.proveAuditConsistency({ query: { from, to: last } })),
  )
  const keys = (await kit.admin.trustAnchors()).jwks.keys
    .filter((key) => key.holdfast_purpose.includes('audit-checkpoint'))
    .map((key) => key.x)
  const answer = await askPython<Answer>('python3', 'verify_audit.py', {
    events: events.slice(0, last),
    keys,
    checkpoints: checkpoints.map((c) => c.note),
    proofs,
    consistencies,
    forged: checkpoints.map((c) => c.note.replace(`\n${c.size}\n`, `\n${c.size + 1}\n`)),
    changed: [1, 100, last].map((seq) =>
      events.slice(0, last).map((event) => (event.seq === seq ? { ...event, origin: 'cli' } : event)),
    ),
  })
  const origin = `holdfast.test/audit/${(await kit.admin.me()).tenant_id}`
  assert.deepEqual(answer, {
    chain: null,
    checkpoints: sizes.map((size) => ({ origin, size, fits: true })),
    proofs: proofs.map(() => true),
    consistencies: consistencies.map(() => true),
    forged: [true, true],
    bad: [1, 100, last],
  })
})
