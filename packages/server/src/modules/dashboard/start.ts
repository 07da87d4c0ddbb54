import { type Contract, contract, type Output } from '@holdfast/contract'
import { type Permission, type StartStepName, startSteps } from '@holdfast/contract/vocabulary'
import type { Tx } from '../../db/database.ts'
import { createReadCache } from '../../db/read-cache.ts'
import { type Actor, permissionsOf, type TenantId } from '../../kernel/actor.ts'
import { second } from '../../kernel/time.ts'
import { firstDeviceAt } from '../devices/index.ts'
import { firstTokenAt } from '../enrollment/index.ts'
import { firstProviderAt } from '../federation/index.ts'
import { reported } from '../gateways/index.ts'
import { secondFactorAt } from '../identity/index.ts'
import { firstPublishAt } from '../policy/index.ts'
import { firstConnectorAt } from '../siem/index.ts'
import type { DashboardDeps } from './deps.ts'

type Start = Output<Contract['getStart']>
type Step = Start['steps'][number]
/** Completion time of each step, the same for every caller. */
type DoneSince = Record<StartStepName, Date | undefined>

/** Permission to read the object of each step. Without it, a caller does not see the completion time. */
const readPermissions: Record<StartStepName, Permission> = {
  sign_in: contract.listIdentityProviders.access.permission,
  gateway: contract.listAllGateways.access.permission,
  policy: contract.listPolicyBundles.access.permission,
  enrollment_token: contract.listTokens.access.permission,
  device_enrolled: contract.listDevices.access.permission,
  device_online: contract.listSessions.access.permission,
  audit_forwarding: contract.listSiemConnectors.access.permission,
}

/** Each read takes the first row of an index. */
const readDone = async (tx: Tx, tenant: TenantId): Promise<DoneSince> => {
  const device = await firstDeviceAt(tx, tenant)
  return {
    sign_in: await firstProviderAt(tx, tenant),
    gateway: await reported.firstGatewayAt(tx, tenant),
    policy: await firstPublishAt(tx, tenant),
    // Old tokens are purged, but their devices stay.
    enrollment_token: (await firstTokenAt(tx, tenant)) ?? device,
    device_enrolled: device,
    device_online: await reported.firstSessionAt(tx, tenant),
    audit_forwarding: await firstConnectorAt(tx, tenant),
  }
}

/** Setup progress of a tenant, computed from existing objects, so that no step has to be ticked off. */
export function createStart({ db, now, tenancy }: Pick<DashboardDeps, 'db' | 'now' | 'tenancy'>) {
  const doneIn = createReadCache<DoneSince>({
    freshMs: 3 * second,
    now,
    read: (tenant) => db.inTenant(tenant, (tx) => readDone(tx, tenant)),
  })

  /** Only a person has an account, in the tenant of the sign-in. */
  const ownFactor = ({ principal }: Actor): Promise<Date | undefined> =>
    principal.kind === 'session'
      ? db.inTenant(principal.tenantId, (tx) => secondFactorAt(tx, principal.tenantId, principal.userId))
      : Promise.resolve(undefined)

  const read = async (actor: Actor): Promise<Start> => {
    const { tenantId } = actor
    const shared = await doneIn(tenantId)
    const own = shared.sign_in ? undefined : await ownFactor(actor)
    const dismissed = await db.inTenant(tenantId, (tx) => tenancy.dismissedSteps.read(tx, tenantId))
    const held = permissionsOf(actor)
    const steps = startSteps.map((step): Step => {
      const ownSince = step === 'sign_in' ? own : undefined
      const shown = held.has(readPermissions[step]) ? (shared[step] ?? ownSince) : ownSince
      return {
        step,
        done: (shared[step] ?? ownSince) !== undefined,
        since: shown?.toISOString() ?? null,
        dismissed: dismissed.has(step),
      }
    })
    return { steps, complete: steps.every((step) => step.done || step.dismissed) }
  }

  return {
    read,
    dismiss: async (
      actor: Actor,
      name: StartStepName,
      dismissed: boolean,
    ): Promise<{ step: Step; changed: boolean }> => {
      const changed = await tenancy.dismissedSteps.set(actor, name, dismissed)
      const { steps } = await read(actor)
      return { step: steps[startSteps.indexOf(name)]!, changed }
    },
  }
}
export type StartOfTenant = ReturnType<typeof createStart>
