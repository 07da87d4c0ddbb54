import type { Contract, Given, Output } from '@holdfast/contract'
import { namedAtMost } from '@holdfast/contract/policy-reach'
import { type CompiledPolicy, createReachTest, type ReachTest } from '@holdfast/policy'
import type { Database } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { AppError, failField } from '../../kernel/app-error.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Fleet, FleetDevice } from '../devices/index.ts'
import type { ReadCandidate } from './candidate.ts'
import { namesOfParties } from './directory.queries.ts'
import { walkFleet } from './fleet-walk.ts'
import { createPartyCount } from './party-count.ts'
import { nameParties } from './party-names.ts'
import { documentOf, targetIn, versionAsked } from './questions.ts'
import type { PolicyStore } from './store.ts'
import { checksOf, deviceFactsOf, type TenantPolicy } from './tenant-policy.ts'

type Asked = Given<Contract['whoReaches']>['body']
type Found = Output<Contract['whoReaches']>
/** The document that a device is judged by, and the test of the target under it. */
type Judges = { by: Found['judged_by']; version: number | null; of: (device: FleetDevice) => ReachTest }

/**
 * Finds the devices that reach a target. Each device of the fleet is judged as `explain` does it, in slices of time. A
 * device that is denied outside of the policy reaches nothing.
 */
export function createReaching({
  db,
  fleet,
  store,
  readCandidate,
  now,
}: {
  db: Database
  fleet: Fleet
  store: PolicyStore
  readCandidate: ReadCandidate
  now: () => Date
}) {
  function judgesOf(policy: TenantPolicy, document: CompiledPolicy | undefined, { target, channel }: Asked): Judges {
    const testOf = (compiled: CompiledPolicy) => createReachTest(compiled, targetIn(compiled, target))
    if (document) {
      const test = testOf(document)
      return { by: 'document', version: null, of: () => test }
    }
    const stable = policy.versionOn('stable')
    if (channel !== undefined) {
      const { compiled, version } = versionAsked(policy, channel)
      const test = testOf(compiled)
      return { by: channel, version, of: () => test }
    }
    if (!policy.runningCanary) {
      const test = testOf(stable.compiled)
      return { by: 'delivered', version: stable.version, of: () => test }
    }
    const tests = eitherOf(
      () => testOf(stable.compiled),
      () => testOf(policy.versionOn('canary').compiled),
    )
    return { by: 'delivered', version: null, of: (device) => tests[policy.channelOf(device)] }
  }

  return async (tenant: TenantId, question: Asked): Promise<Found> => {
    const document = await documentOf(readCandidate, tenant, question)
    const policy = await store.at(tenant)
    const judges = judgesOf(policy, document, question)
    const nowMs = now().getTime()
    const at = question.at === undefined ? nowMs : Date.parse(question.at)
    if (Number.isNaN(at)) failField('at', 'must be an RFC 3339 time that exists, such as 2026-01-31T09:30:00Z')
    const parties = createPartyCount()
    const rules = new Map<string, number>()
    const first: { device: FleetDevice; rule: string }[] = []
    const devices = await fleet.all(tenant, checksOf(document ? [document] : policy.inForce))
    await walkFleet(
      devices,
      (device) => {
        const context = { at, ...(device.mfaAt !== null && { mfa_at: device.mfaAt }) }
        const isFree = device.blockersAt(nowMs).length === 0
        const rule = isFree ? judges.of(device)(deviceFactsOf(device), context) : null
        parties.examine(device, rule !== null, rule ?? undefined)
        if (rule === null) return
        rules.set(rule, (rules.get(rule) ?? 0) + 1)
        if (first.length < namedAtMost) first.push({ device, rule })
      },
      'all',
    )
    const [named] = await nameParties(db, tenant, [await parties.result()])
    return {
      target: question.target,
      judged_by: judges.by,
      version: judges.version,
      at: new Date(at).toISOString(),
      devices_examined: devices.size,
      ...named!,
      rules: [...rules]
        .map(([rule_id, count]) => ({ rule_id, devices: count }))
        .sort((a, b) => b.devices - a.devices || (a.rule_id < b.rule_id ? -1 : 1))
        .slice(0, namedAtMost),
      devices: await namedDevices(tenant, first, policy),
    }
  }

  async function namedDevices(
    tenant: TenantId,
    found: readonly { device: FleetDevice; rule: string }[],
    policy: TenantPolicy,
  ): Promise<Found['devices']> {
    const ids = found.map(({ device }) => device.deviceId)
    const users = found.flatMap(({ device }) => device.userId ?? [])
    const names = await db.inTenant(tenant, (tx) => namesOfParties(tx, tenant, { users, groups: [], devices: ids }))
    return found.map(({ device, rule }) => ({
      device_id: encodeId('device', device.deviceId),
      device_name: names.get(device.deviceId) ?? null,
      user_id: device.userId && encodeId('user', device.userId),
      username: device.userId === null ? null : (names.get(device.userId) ?? null),
      channel: policy.channelOf(device),
      rule_id: rule,
    }))
  }
}
export type Reaching = ReturnType<typeof createReaching>

/** A target that only one of the two policies knows is unreachable under the other. */
function eitherOf(stable: () => ReachTest, canary: () => ReachTest): Record<'stable' | 'canary', ReachTest> {
  const testOr = (make: () => ReachTest): ReachTest | AppError => {
    try {
      return make()
    } catch (e) {
      if (e instanceof AppError) return e
      throw e
    }
  }
  const [onStable, onCanary] = [testOr(stable), testOr(canary)]
  if (onStable instanceof AppError && onCanary instanceof AppError) throw onStable
  const never: ReachTest = () => null
  return {
    stable: onStable instanceof AppError ? never : onStable,
    canary: onCanary instanceof AppError ? never : onCanary,
  }
}
