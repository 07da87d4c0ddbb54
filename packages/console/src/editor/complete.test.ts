import assert from 'node:assert/strict'
import { test } from 'node:test'
import { completionAt, type Names } from './complete.ts'
import { policySchema } from './policy-schema.ts'

const names: Names = {
  users: async () => ['ana', 'bob'],
  groups: async () => ['engineering', 'sales'],
  tags: async () => ['kiosk'],
  devices: async () => ['dev_1'],
  pools: async () => ['frankfurt'],
  own: (part) => ({ resources: ['wiki', 'git'], hosts: ['db'], groups: ['on-call'], posture_checks: ['disk'] })[part],
}
/** Completes at the place of the mark. */
const labelsAt = async (marked: string): Promise<string[]> => {
  const offset = marked.indexOf('|')
  const found = await completionAt(policySchema, names, marked.replace('|', ''), offset)
  return found?.options.map(({ label }) => label) ?? []
}

test('fields of the schema are offered, with the ones that fit the typed text', async () => {
  assert.deepEqual(await labelsAt('{ "rules": [ { "ac|" } ] }'), ['action'])
  assert.ok((await labelsAt('{ "|" }')).includes('posture_checks'))
  assert.ok((await labelsAt('{ "rules": [ { "when": { "|" } } ] }')).includes('mfa_within_seconds'))
  assert.ok((await labelsAt('{ "resources": { "wiki": { "|" } } }')).includes('cidrs'))
})

test('values of enumerations, and names of the tenant and of the document are offered', async () => {
  assert.deepEqual(await labelsAt('{ "rules": [ { "action": "|" } ] }'), ['allow', 'deny'])
  assert.deepEqual(await labelsAt('{ "rules": [ { "log": | } ] }'), ['true', 'false'])
  assert.deepEqual(await labelsAt('{ "rules": [ { "from": { "groups": ["|"] } } ] }'), [
    ...['on-call', 'engineering', 'sales'],
  ])
  assert.deepEqual(await labelsAt('{ "rules": [ { "to": ["wiki", "g|"] } ] }'), ['git'])
  assert.deepEqual(await labelsAt('{ "rules": [ { "when": { "posture": ["|"] } } ] }'), ['disk'])
  assert.deepEqual(await labelsAt('{ "schema": "|" }'), ['holdfast.policy/1'])
  assert.deepEqual(await labelsAt('{ "rules": [ { "via": ["|"] } ] }'), ['frankfurt'])
})

test('a completed field has a colon only if the text has none', async () => {
  const insertAt = async (marked: string) => {
    const found = await completionAt(policySchema, names, marked.replace('|', ''), marked.indexOf('|'))
    return found?.options[0]?.insert
  }
  assert.equal(await insertAt('{ "rules": [ { "ac|" } ] }'), '"action": ')
  assert.equal(await insertAt('{ "rules": [ { "ac|": "allow" } ] }'), '"action"')
})
