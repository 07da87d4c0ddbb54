import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeDirectorySource } from '@holdfast/sdk'
import { startKit } from '../kit.ts'
import { config, sourceOf, startKeycloak } from '../pulls.ts'

test('a credential goes to no other place than the one it was given for', async (t) => {
  const kit = await startKit(t, { config })
  const { admin } = kit
  const [keycloak, another] = [await startKeycloak(kit), await startKeycloak(kit)]
  keycloak.addUsers(1)
  const { source_id } = await sourceOf(admin, keycloak)
  const params = { source_id }
  const { issuer } = another
  await assert.rejects(changeDirectorySource(admin, { params }, { issuer }), { status: 422, message: /credential/ })
  assert.equal((await admin.getDirectorySource({ params })).issuer, keycloak.issuer)
  assert.equal((await admin.testDirectorySource({ params })).ok, true)
  assert.deepEqual(another.asked, [])
  // Whoever knows it may move it, and whoever takes it away has nothing to move.
  await changeDirectorySource(admin, { params }, { issuer, credential: 'another secret' })
  assert.match((await admin.testDirectorySource({ params })).problem ?? '', /unauthorized_client/)
  const moved = await changeDirectorySource(admin, { params }, { issuer: keycloak.issuer, credential: null })
  assert.deepEqual([moved.credential_set, moved.issuer], [false, keycloak.issuer])
  const back = await changeDirectorySource(admin, { params }, { issuer })
  assert.deepEqual([back.credential_set, back.issuer], [false, issuer])
})
