import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keycloakClient, startKeycloak } from '../support/providers/keycloak-directory.ts'
import { askDirectory, readRecorded, staff, teams } from './keycloak.ts'

test('the directory that pulls are tried on answers as Keycloak did', async (t) => {
  const keycloak = await startKeycloak(t)
  const add = (username: string) => keycloak.addUser(username, { firstName: username, lastName: 'Example' })
  const [anna, ...others] = ['anna', 'ben', ...staff].map(add)
  const service = keycloak.addUser('service-account-directory', { serviceAccountClientId: 'directory' })
  keycloak.addGroup('/staff', [...others, service])
  keycloak.addGroup('/staff/admins', [anna!])
  for (const name of teams) keycloak.addGroup(`/staff/${name}`)
  const { client_id: id, secret } = keycloakClient
  assert.deepEqual(await askDirectory(keycloak.issuer, { id, secret }), readRecorded().directory)
})
