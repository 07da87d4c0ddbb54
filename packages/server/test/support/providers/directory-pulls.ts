import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '@holdfast/sdk'
import type { Kit } from '../deployment/deployment.ts'
import { promptly } from '../deployment/wait-until.ts'
import { opened } from '../domain/notifications.ts'
import { keycloakClient, startKeycloak } from './keycloak-directory.ts'

type Body = Parameters<Client['runDirectorySource']>[0]['body']
type NewSource = Parameters<Client['createDirectorySource']>[0]['body']
type Keycloak = Awaited<ReturnType<typeof startKeycloak>>

/** Allows reading a directory on loopback. */
export const config = opened

/** Creates a source without a schedule. */
export const sourceOf = (client: Client, { issuer }: Pick<Keycloak, 'issuer'>, more: Partial<NewSource> = {}) =>
  client.createDirectorySource({
    body: {
      provider: 'corp',
      kind: 'keycloak',
      issuer,
      client_id: keycloakClient.client_id,
      credential: keycloakClient.secret,
      ...more,
    },
  })

/** Waits until a run is over, and returns it. */
export async function settled(client: Client, run_id: string, ms = 4 * promptly) {
  for (const end = performance.now() + ms; ; await delay(20)) {
    const run = await client.getDirectoryRun({ params: { run_id } })
    if (run.status !== 'fetching') return run
    assert.ok(performance.now() < end, `still ${JSON.stringify(run.progress)}`)
  }
}
/** Starts a pull and waits for its result. */
export async function pull(client: Client, source_id: string, body: Body = {}) {
  const { run } = await client.runDirectorySource({ params: { source_id }, body })
  return settled(client, run.run_id)
}

/** The active directory users, and all groups with their members, by name. */
export async function heldOf({ admin }: Pick<Kit, 'admin'>) {
  const users = (await admin.listUsers({ query: { source: 'directory', limit: 200 } })).items
  const names = new Map(users.map((u) => [u.user_id, u.username]))
  const groups: Record<string, string[]> = {}
  for (const { group_id, name } of (await admin.listGroups({ query: { limit: 200 } })).items) {
    const { items } = await admin.listUsers({ query: { group_id, limit: 200 } })
    groups[name] = items.map((u) => names.get(u.user_id) ?? '?').sort()
  }
  return {
    users: users
      .filter((u) => u.status === 'active')
      .map((u) => u.username)
      .sort(),
    groups,
  }
}

/** Adds a few users in nested groups; one of them is disabled. */
export function populateKeycloak(keycloak: Keycloak) {
  const ids = Object.fromEntries(['ada', 'ben', 'cleo', 'dan', 'eva'].map((name) => [name, keycloak.addUser(name)]))
  const { ada = '', ben = '', cleo = '', dan = '', eva = '' } = ids
  keycloak.users.get(dan)!.enabled = false
  const robot = keycloak.addUser('service-account-backup', { serviceAccountClientId: 'backup' })
  keycloak.addGroup('/engineering', [ada, ben, robot])
  keycloak.addGroup('/engineering/backend', [ben])
  keycloak.addGroup('/engineering/backend/on call', [cleo])
  keycloak.addGroup('/sales', [eva, dan])
  return { ada, ben, cleo, dan, eva }
}
export { keycloakClient, startKeycloak }
