import assert from 'node:assert/strict'
import { operations } from '@holdfast/contract'
import { askPython } from './tools.ts'

export type Sample = { name: string; method: string; path: string; status: number; answer: object }
type Report = {
  schemas: number
  problems: Record<string, string>
  references: string[]
  tells_broken: boolean
  samples: { errors: string[]; spoiled: number; accepted: number }[]
}

/** The list of errors may be absent. */
const tolerated: Record<string, number> = { changeUser: 1 }

/**
 * Makes python-jsonschema check every schema of a description, and the answers against them. Returns the number of
 * schemas.
 */
export async function judge(openapi: object, samples: readonly Sample[]): Promise<number> {
  const report = await askPython<Report>('python3-jsonschema', 'check_openapi.py', { openapi, samples })
  assert.deepEqual(report.problems, {})
  assert.ok(report.tells_broken)
  assert.ok(report.references.includes('#/components/schemas/Error'))
  for (const [i, { name }] of samples.entries()) {
    const { errors, spoiled, accepted } = report.samples[i]!
    assert.deepEqual([name, errors], [name, []])
    // Most attributes of a SCIM resource are optional, and so are the fields of other kinds of events.
    const isLoose = name === 'getAuditEvent' || operations.some(([its, e]) => its === name && e.protocol === 'scim')
    if (!isLoose) assert.equal(accepted, tolerated[name] ?? 0, `${name}: one field more or less is told`)
    assert.ok(spoiled >= 2)
  }
  return report.schemas
}
