import { parentPort, workerData } from 'node:worker_threads'
import { startKeycloak } from './keycloak-directory.ts'

/** A simulated Keycloak in a thread of its own, so that its CPU time does not count for the deployment. */
export type Wanted = { users: number; groups: number; perUser: number }
/** Changes to the users, in order: the number to rename, and the indexes to disable. */
export type Change = { renamed: number; disabled: number[] }
export type Made = { issuer: string; ids: string[] }

const { users, groups, perUser } = workerData as Wanted
const keycloak = await startKeycloak({ after: () => {} })
const ids = keycloak.addUsers(users)
for (let g = 0; g < groups; g++)
  keycloak.addGroup(
    `/group ${String(g).padStart(4, '0')}`,
    ids.flatMap((id, u) =>
      Array.from({ length: perUser }, (_, m) => ((u * 7 + m * 331) % groups === g ? [id] : [])).flat(),
    ),
  )
parentPort?.on('message', ({ renamed, disabled }: Change) => {
  for (const id of ids.slice(0, renamed)) keycloak.users.get(id)!.lastName = 'Else'
  for (const n of disabled) keycloak.users.get(ids[n]!)!.enabled = false
  parentPort?.postMessage('changed')
})
parentPort?.postMessage({ issuer: keycloak.issuer, ids } satisfies Made)
