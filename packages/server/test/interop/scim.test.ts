import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startKit } from '../kit.ts'
import { provision } from '../scim.ts'
import { askPython, without } from './tools.ts'

const skip = without('scim2-tester')
type Result = { status: string; title: string; reason: string }

test('scim2-tester finds nothing that RFC 7643 and RFC 7644 would have otherwise', { skip }, async (t) => {
  const kit = await startKit(t)
  const { key } = await provision(kit)
  const results = await askPython<Result[]>('scim2-tester', 'check_scim.py', { url: `${kit.url}/v1/scim/v2`, key })
  const counts = Map.groupBy(results, (r) => r.status)
  t.diagnostic([...counts].map(([status, all]) => `${status} ${all.length}`).join(', '))
  assert.deepEqual(
    results.filter((r) => r.status === 'ERROR' || r.status === 'CRITICAL'),
    [],
  )
  assert.ok((counts.get('SUCCESS')?.length ?? 0) > 50)
})
