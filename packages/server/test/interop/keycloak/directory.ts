import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { startKit } from '../../support/deployment/deployment.ts'
import { config, heldOf, settled } from '../../support/providers/directory-pulls.ts'
import { clientSecret, makeRealm, newRealmName, person } from './realm.ts'
import type { Keycloak } from './server.ts'

const patience = 60_000

export async function followed(t: TestContext, keycloak: Keycloak) {
  const kit = await startKit(t, { config })
  const { admin } = kit
  // More than a page of users, of groups within a group, and of members.
  const names = Array.from({ length: 130 }, (_, i) => `user-${String(i).padStart(3, '0')}`)
  const realm = await makeRealm(keycloak, newRealmName(), { staff: names, teams: names.slice(0, 120) })
  const source = await admin.createDirectorySource({
    body: {
      provider: 'corp',
      kind: 'keycloak',
      issuer: realm.issuer,
      client_id: 'directory',
      credential: clientSecret,
    },
  })
  const params = { source_id: source.source_id }
  const test = () => admin.testDirectorySource({ params })
  // Service accounts are not counted as users.
  assert.deepEqual((await test()).found, { users: 132, groups: 122, some_users: ['anna', 'ben', ...names.slice(0, 3)] })

  const idp = async () => settled(admin, (await admin.runIdpSync({ body: {} })).run.run_id, patience)
  const first = await idp()
  assert.equal(first.status, 'applied', JSON.stringify(first))
  assert.deepEqual([first.counts.users.created, first.counts.groups.created], [132, 122])
  const { users, groups } = await heldOf(kit)
  assert.deepEqual(users, ['anna', 'ben', ...names])
  assert.deepEqual([groups['/staff'], groups['/staff/admins']], [['ben', ...names], ['anna']])
  const [anna] = (await admin.listUsers({ query: { q: 'anna' } })).items
  assert.deepEqual(
    [anna?.external_id, anna?.email, anna?.display_name, anna?.source],
    [await realm.userId('anna'), 'anna@example.com', 'anna Example', 'directory'],
  )
  const run = async () => settled(admin, (await admin.runKeycloakSync({ body: {} })).run.run_id, patience)
  assert.equal((await run()).status, 'unchanged')

  await realm.changeUser('ben', { enabled: false })
  await realm.admin('DELETE', `/users/${await realm.userId('user-000')}`)
  await realm.admin('POST', '/users', person('finn'))
  const next = await run()
  assert.deepEqual(
    [next.status, next.counts.users],
    ['applied', { created: 1, updated: 0, suspended: 2, reactivated: 0, unchanged: 130 }],
  )
  assert.deepEqual((await heldOf(kit)).users, ['anna', 'finn', ...names.slice(1)])

  // The removal of half the users is held until it is confirmed.
  for (const name of names.slice(1, 40)) await realm.changeUser(name, { enabled: false })
  const held = await run()
  assert.deepEqual([held.status, held.held_because.map((h) => h.rule)], ['held', ['users_removed']])

  // A directory that can't be read changes nothing.
  await realm.change({ enabled: false })
  assert.equal((await run()).status, 'failed')
  assert.equal((await test()).ok, false)
  assert.equal((await heldOf(kit)).users.length, 131)
}
