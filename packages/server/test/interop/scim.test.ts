import assert from 'node:assert/strict'
import { test } from 'node:test'
import { many, provision, pushed } from '../support/clients/scim-client.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { askPython, without } from './tools.ts'

const skip = without('scim2-tester')
type Result = { status: string; title: string; reason: string }

test('scim2-tester finds nothing that RFC 7643 and RFC 7644 would have otherwise', { skip }, async (t) => {
  const kit = await startKit(t)
  const { key, scim } = await provision(kit)
  // The deletions exceed the limit, so the held run is confirmed.
  const ids = await pushed(scim, many(7))
  const off = { op: 'replace', path: 'active', value: false }
  for (const id of ids) await scim.patch(`Users/${id}`, [off])
  const { items } = await kit.admin.listDirectoryRuns()
  const held = items.find((run) => run.status === 'held')
  await kit.admin.confirmDirectoryRun({ params: { run_id: held?.run_id ?? '' }, body: {} })
  const results = await askPython<Result[]>('scim2-tester', 'check_scim.py', { url: `${kit.url}/v1/scim/v2`, key })
  const counts = Map.groupBy(results, (r) => r.status)
  t.diagnostic([...counts].map(([status, all]) => `${status} ${all.length}`).join(', '))
  assert.deepEqual(
    results.filter((r) => r.status === 'ERROR' || r.status === 'CRITICAL'),
    [],
  )
  assert.ok((counts.get('SUCCESS')?.length ?? 0) > 50)
})
