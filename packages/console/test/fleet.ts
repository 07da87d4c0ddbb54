import type { TestContext } from 'node:test'
import type { Role } from '@holdfast/contract/vocabulary'
import { gatewayAgent } from '../../server/test/support/actors/gateways.ts'
import { makeUser, passwordOf } from '../../server/test/support/actors/people.ts'
import { makeSampleObjects, type ObjectIds } from '../../server/test/support/actors/sample-objects.ts'
import { adminPassword, type Kit, startKit } from '../../server/test/support/deployment/deployment.ts'
import { until } from '../../server/test/support/deployment/wait-until.ts'
import { raiseNotice } from '../../server/test/support/domain/notifications.ts'
import { enrollDevices, moveDevices } from './fleet-devices.ts'
import {
  createDirectory,
  createDraft,
  createGateways,
  publishPolicies,
  type SeededGateway,
  tellSessions,
} from './fleet-setup.ts'

/** Users who sign in, by their name in tests. `newcomer` administers an empty tenant. */
export const people = ['admin', 'viewer', 'helpdesk', 'auditor', 'newcomer'] as const
export type Who = (typeof people)[number]

/** Deployment with a fleet, from `startFleet`. */
export type Fleet = {
  kit: Kit
  /** One object of each kind, by its name in paths: `device_id`. */
  ids: ObjectIds
  signInOf: (who: Who) => { username: string; password: string }
}

/**
 * Public URL. Browsers trust a name below `localhost` like HTTPS, so cookies and headers are the same as in production.
 */
export const publicUrl = 'http://holdfast.localhost'
/** Tenant without objects. */
const emptyTenant = 'empty'

/**
 * Starts the server of the tests on real PostgreSQL. The fleet has 10 gateways that pull, confirm and send heartbeats,
 * 70 devices in all states, and the users of `people`.
 *
 * @param t ends it
 * @param listens gets the address as soon as the server listens
 */
export async function startFleet(
  t: { after: (end: () => unknown) => void },
  listens: (url: string) => void,
): Promise<Fleet> {
  const kit = await startKit(t as TestContext, { config: { publicUrl } })
  listens(kit.url)
  for (const [who, role] of Object.entries(roles)) await makeUser(kit, who, [role])
  await createNewcomer(kit)
  const directory = await createDirectory(kit)
  const gateways = await createGateways(kit)
  await publishPolicies(kit)
  const draft_id = await createDraft(kit)
  const [devices] = await Promise.all([enrollDevices(kit, directory), follow(kit, gateways)])
  await tellSessions(kit, gateways, devices)
  await moveDevices(kit, devices, directory)
  for (const [severity, title, detail] of notices) await raiseNotice(kit, { severity, title, detail })
  const { ids } = await makeSampleObjects(kit, kit.admin, shown)
  return {
    kit,
    ids: {
      ...ids,
      draft_id,
      device_id: devices[0]!.id,
      user_id: directory.userIds[2]!,
      group_id: directory.groupIds[0]!,
      gateway_id: gateways[0]!.made.gateway.gateway_id,
    },
    signInOf: (who) =>
      who === 'admin'
        ? { username: 'admin', password: adminPassword }
        : { username: who === 'newcomer' ? `${emptyTenant}/newcomer` : who, password: passwordOf(who) },
  }
}

const roles = { viewer: 'viewer', helpdesk: 'helpdesk', auditor: 'auditor' } as const satisfies Partial<
  Record<Who, Role>
>
/** Objects on pages that the fleet itself does not have. */
const shown = [
  ...(['user_id', 'group_id', 'token_id', 'pool_id', 'key_id', 'notification_id', 'provider_id'] as const),
  ...(['source_id', 'release_id', 'package_id', 'run_id', 'signer_id', 'spc_id', 'lock_id'] as const),
  ...(['workflow_run_id', 'event_id', 'connector_id', 'export_id', 'legal_hold_id'] as const),
] as const
const notices = [
  ['critical', 'A gateway does not answer', 'fra-2 has sent no heartbeat for 10 minutes. Its sessions moved to fra-1.'],
  ['warning', 'The account of bob is locked', 'Ten sign-ins in a row failed. It opens by itself in 15 minutes.'],
  ['info', 'A directory run waits for you', 'It would remove 14 of 120 users. Confirm it or discard it.'],
] as const

async function createNewcomer(kit: Kit): Promise<void> {
  const tenant = await kit.newTenant(emptyTenant)
  const newcomer = { username: 'newcomer', password: passwordOf('newcomer'), roles: ['tenant_admin'] as const }
  await kit.app.identity.createUser(tenant, newcomer)
}

/** Milliseconds between two heartbeats, well below the silence after which a gateway is degraded. */
const heartbeatMs = 10_000

/** Lets every gateway pull its policy, confirm it and send heartbeats until the deployment ends. */
async function follow(kit: Kit, gateways: readonly SeededGateway[]): Promise<void> {
  const ending = new AbortController()
  let confirmed = 0
  const all = gateways.map(({ made, load }, i) => {
    const gateway = gatewayAgent(kit, made)
    const beat = () => gateway.heartbeat({ active_sessions: 3 + i, version: load.version, system: load.system })
    const timer = setInterval(() => void beat().catch(() => {}), heartbeatMs)
    let hasConfirmed = false
    const pulling = gateway.runPulling({
      signal: ending.signal,
      onChange: () => {},
      onApplied: async () => {
        await beat()
        if (!hasConfirmed) confirmed++
        hasConfirmed = true
      },
    })
    return { timer, pulling }
  })
  kit.after(async () => {
    ending.abort()
    for (const { timer } of all) clearInterval(timer)
    await Promise.all(all.map(({ pulling }) => pulling))
  })
  await until(() => confirmed === gateways.length, 'every gateway confirms its policy')
}
