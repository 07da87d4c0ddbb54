import type { ReleaseOperation } from '@holdfast/contract/vocabulary'
import type { Tx } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail, failField, failMaximum } from '../../../kernel/app-error.ts'
import { type Differences, differences } from '../../../kernel/differences.ts'
import { decodeId, encodeId } from '../../../kernel/ids.ts'
import type { ExpectedVersion } from '../../../kernel/version.ts'
import { knownGroups } from '../../identity/index.ts'
import type { Notice } from '../../notifications/index.ts'
import type { UpdatesDeps } from '../deps.ts'
import { lockRepository } from '../repositories.queries.ts'
import type { Release, ReleaseRollout, ReleaseRow } from './releases.queries.ts'
import * as queries from './releases.queries.ts'
import { namesInRelease, noRelease, releaseTarget } from './releases.ts'

type Given = { operation: ReleaseOperation; rollout?: { percent: number; group_ids: string[] }; reason?: string }
type Status = ReleaseRow['status']
type Rule = {
  from: readonly Status[]
  /** True if the release is already in the target state. */
  holds: (release: ReleaseRow) => boolean
  to: (at: Date, reason: string | null) => Parameters<typeof queries.moveRelease>[4]
  takesRollout?: true
}

/** Most releases offered at once, which keeps the metadata that a TUF client reads at a few megabytes. */
const mostLive = 100

const is = (status: Status) => (release: ReleaseRow) => release.status === status
const rules: Record<ReleaseOperation, Rule> = {
  publish: {
    from: ['draft'],
    holds: is('published'),
    to: (at) => ({ status: 'published', published_at: at }),
    takesRollout: true,
  },
  pause: { from: ['published'], holds: is('paused'), to: (_, reason) => ({ status: 'paused', reason }) },
  resume: { from: ['paused'], holds: is('published'), to: () => ({ status: 'published', reason: null }) },
  halt: { from: ['published', 'paused'], holds: is('halted'), to: (_, reason) => ({ status: 'halted', reason }) },
  withdraw: {
    from: ['published', 'paused', 'halted'],
    holds: is('withdrawn'),
    to: (_, reason) => ({ status: 'withdrawn', reason }),
  },
  promote: {
    from: ['published', 'paused'],
    holds: ({ channel, status }) => channel === 'stable' && (status === 'published' || status === 'paused'),
    to: (at) => ({ channel: 'stable', promoted_at: at }),
    takesRollout: true,
  },
  roll_out: { from: ['draft', 'published', 'paused'], holds: () => false, to: () => ({}), takesRollout: true },
}

/** State changes and rollouts of releases. Every change is one guarded UPDATE. */
export function createReleaseTransitions({
  db,
  audit,
  changes,
  notify,
  now,
}: Pick<UpdatesDeps, 'db' | 'audit' | 'changes' | 'notify' | 'now'>) {
  return async (
    actor: Actor,
    releaseId: string,
    given: Given,
    expected: ExpectedVersion,
  ): Promise<{ release: Release; changed: boolean }> => {
    const { operation, reason } = given
    const rule = rules[operation]
    const rollout = rolloutOf(given, rule)
    if (operation === 'halt' && reason === undefined)
      failField('reason', 'is required, because this operation cannot be undone')
    return db.inTenant(actor.tenantId, async (tx) => {
      const tenant = actor.tenantId
      if (operation === 'publish') await lockRepository(tx, tenant)
      const before = (await queries.lockRelease(tx, tenant, releaseId)) ?? noRelease()
      expected.require(before)
      const packages = await queries.countPackages(tx, tenant, releaseId)
      if (rule.holds(before)) return { release: { ...before, packages }, changed: false }
      if (operation === 'publish') await requirePublishable(tx, tenant, before, packages)
      if (rollout) await requireGroups(tx, tenant, rollout)
      const to = { ...rule.to(now(), reason ?? null), ...rollout }
      const changed = differences(before, to)
      if (Object.keys(changed).length === 0) return { release: { ...before, packages }, changed: false }
      const row = (await queries.moveRelease(tx, tenant, releaseId, rule.from, to, now())) ?? impossible(before, given)
      await audit.record(
        tx,
        actor,
        'release.changed',
        { operation, ...namesInRelease(row) },
        { target: releaseTarget(row), changes: asShown(changed), ...(reason !== undefined && { details: { reason } }) },
      )
      if (operation === 'halt') await notify(tx, tenant, haltNotice(row, actor))
      await changes.record(tx, tenant, [{ kind: 'release', subject: releaseId }])
      return { release: { ...row, packages }, changed: true }
    })
  }
}
export type ReleaseTransitions = ReturnType<typeof createReleaseTransitions>

function rolloutOf({ operation, rollout }: Given, { takesRollout }: Rule): ReleaseRollout | undefined {
  if (operation === 'roll_out' && !rollout) failField('rollout', 'is required')
  if (rollout && !takesRollout) failField('rollout', `is not allowed with ${operation}`)
  if (!rollout) return undefined
  const ids = rollout.group_ids.map(
    (id, i) => decodeId('group', id) ?? failField(`rollout.group_ids[${i}]`, 'no such group'),
  )
  return { rollout_percent: rollout.percent, rollout_group_ids: ids }
}

/** Returns the changes in their API form. */
function asShown({ rollout_percent: percent, rollout_group_ids: groups, ...others }: Differences): Differences {
  const encoded = (ids: unknown) => (ids as string[]).map((id) => encodeId('group', id))
  return {
    ...others,
    ...(percent && { 'rollout.percent': percent }),
    ...(groups && { 'rollout.group_ids': [encoded(groups[0]), encoded(groups[1])] as const }),
  }
}

async function requireGroups(tx: Tx, tenant: TenantId, { rollout_group_ids: ids }: ReleaseRollout): Promise<void> {
  const known = new Set(await knownGroups(tx, tenant, ids))
  const deletedIndex = ids.findIndex((id) => !known.has(id))
  if (deletedIndex >= 0) failField(`rollout.group_ids[${deletedIndex}]`, 'no such group')
}

async function requirePublishable(tx: Tx, tenant: TenantId, { status }: ReleaseRow, packages: number): Promise<void> {
  if (status !== 'draft') return
  if (packages === 0) fail('validation_error', 'the release has no packages: upload one first')
  if ((await queries.countLive(tx, tenant)) >= mostLive)
    failMaximum(`the tenant offers ${mostLive} releases`, 'withdraw a release that no device needs')
}

const impossible = ({ status }: ReleaseRow, { operation }: Given) =>
  fail(
    'validation_error',
    `the release is ${status}: ${operation} needs a release that is ${rules[operation].from.join(' or ')}`,
  )

function haltNotice({ release_id, version, reason }: ReleaseRow, { name }: Actor): Notice {
  const id = encodeId('release', release_id)
  return {
    kind: 'release.halted',
    severity: 'warning',
    title: `The release ${version} was halted`,
    detail: `${name ?? 'An unknown caller'} halted it: ${reason}. The server no longer offers it, and devices can no longer download it. Devices that have installed it keep it until a newer release is published.`,
    subject: { type: 'release', id, name: version },
    dedupe_key: `release.halted:${release_id}`,
  }
}
