import assert from 'node:assert/strict'
import { test } from 'node:test'
import { groupsOf, planDirectory } from './directory.ts'
import { canaryDocument, checkMeanings, revisedDocument, stableDocument } from './documents.ts'
import { expectPolicy, keyOf } from './oracle.ts'
import { createRandom } from './random.ts'

function make(seed: number) {
  const random = createRandom(seed)
  const directory = planDirectory(random, { devices: 200, gateways: 3 })
  for (const device of directory.devices) device.id = `dev_${device.index}`
  for (const user of directory.users) user.id = `usr_${user.username}`
  for (const group of directory.groups) group.id = `grp_${group.name}`
  return { directory, document: stableDocument(random, directory) }
}

test('the document has at least 40 rules, 30 tests and every posture check', () => {
  const { document } = make(1)
  assert.ok(document.rules.length >= 40)
  assert.ok((document.tests?.length ?? 0) >= 30)
  assert.deepEqual(Object.keys(document.posture_checks ?? {}).sort(), Object.keys(checkMeanings).sort())
})

test('equal seeds make equal fleets, different seeds different ones', () => {
  assert.deepEqual(make(5), make(5))
  assert.notDeepEqual(make(5).directory.users, make(6).directory.users)
})

test('the revision changes the policy of exactly the members of the group, the canary that of every device', () => {
  const { directory, document } = make(2)
  const revised = revisedDocument(document, 'sales')
  const canary = canaryDocument(document)
  for (const device of directory.devices) {
    const keyUnder = (each: typeof document) => keyOf(expectPolicy(each, directory, device, 0))
    assert.equal(keyUnder(revised) !== keyUnder(document), groupsOf(device).has('sales'), device.name)
    assert.notEqual(keyUnder(canary), keyUnder(document))
  }
})
