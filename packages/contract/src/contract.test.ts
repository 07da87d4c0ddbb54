import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Value } from 'typebox/value'
import { examples } from './examples.ts'
import { operations } from './index.ts'

test('an endpoint whose permission depends on the operation has a rule for each, and no other', () => {
  const wrong: string[] = []
  for (const [name, e] of operations) {
    const body = e.body as { properties?: { operation?: { enum?: string[] } } } | undefined
    const named = body?.properties?.operation?.enum ?? []
    const ruled = Object.keys(e.operations ?? {})
    const byOperation = e.access.by !== 'anyone' && e.access.permission === 'by_operation'
    if (byOperation !== ruled.length > 0) wrong.push(`${name}: by_operation and operations go together`)
    if (ruled.length > 0 && ruled.join() !== named.join())
      wrong.push(`${name}: rules for ${ruled}, body takes ${named}`)
  }
  assert.deepEqual(wrong, [])
})

test('every body has an example, and it is valid', () => {
  const wrong: string[] = []
  for (const [name, e] of operations) {
    if (!e.body) continue
    const example = (examples as Record<string, unknown>)[name]
    if (!Value.Check(e.body, example)) wrong.push(`${name}: ${JSON.stringify(Value.Errors(e.body, example))}`)
  }
  assert.deepEqual(wrong, [])
})
