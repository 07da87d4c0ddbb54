import type { OutputOf } from '../../api/client.ts'
import { formatCount, formatList, formatNumber } from '../../ui/format.ts'
import type { Mark } from '../../ui/status.tsx'

/** Published version of the policy. */
export type Version = OutputOf<'GET /v1/admin/policy'>['items'][number]
export type VersionDetail = OutputOf<'GET /v1/admin/policy/{bundle_id}'>
export type Gate = NonNullable<Version['gate']>

/** State of a gate in words, and its mark. */
export const gateWords: Readonly<Record<Gate['state'], { label: string; kind: Mark }>> = {
  watching: { label: 'Watching', kind: 'half' },
  passed: { label: 'Passed', kind: 'ok' },
  failed: { label: 'Failed', kind: 'bad' },
  rolled_back: { label: 'Rolled back', kind: 'bad' },
}

type Rules = Pick<Version['impact'], 'rules_added' | 'rules_removed' | 'rules_changed'>

/** @example changesOf(version.impact) // '1 rule added, 2 changed' */
export function changesOf({ rules_added, rules_removed, rules_changed }: Rules): string {
  const parts = [
    [rules_added.length, 'added'],
    [rules_changed.length, 'changed'],
    [rules_removed.length, 'removed'],
  ] as const
  const shown = parts.filter(([count]) => count > 0)
  if (shown.length === 0) return 'no rule changed'
  return shown.map(([count, verb], i) => `${i === 0 ? formatCount(count, 'rule') : count} ${verb}`).join(', ')
}

/** Devices of a canary. @example audienceOf(version.rollout) // '10 % of devices and group sre' */
export function audienceOf({ percent, group_names, device_ids }: Version['rollout']): string {
  const names = group_names.map((name) => name ?? 'a deleted group')
  const parts = [
    percent > 0 && `${formatNumber(percent)} % of devices`,
    names.length > 0 && `${names.length === 1 ? 'group' : 'groups'} ${formatList(names)}`,
    device_ids.length > 0 && `${formatCount(device_ids.length, 'device')} by name`,
  ].filter((part) => part !== false)
  return parts.length === 0 ? 'no device' : formatList(parts)
}

/** @example testsOf(version.tests) // '18 of 18 passed' */
export const testsOf = ({ passed, failed }: Version['tests']): string =>
  passed + failed === 0 ? 'none' : `${formatNumber(passed)} of ${formatNumber(passed + failed)} passed`

/** @example impactOf(version.impact) // '38 grants gained, 0 lost on 19 devices' */
export function impactOf({ status, grants_gained, grants_lost, devices_affected }: Version['impact']): string {
  if (status === 'running') return 'still counted'
  if (devices_affected === 0) return 'no device gains or loses access'
  return `${formatCount(grants_gained, 'grant')} gained, ${formatNumber(grants_lost)} lost on ${formatCount(devices_affected, 'device')}`
}

/** Address of the comparison of two versions. */
export const compareHref = (from: Pick<Version, 'bundle_id'>, to: Pick<Version, 'bundle_id'>): string =>
  `/admin/policy/compare?from=${from.bundle_id}&to=${to.bundle_id}`

/** Reason why the canary cannot be promoted; undefined if it can. */
export function gateReason(gate: Gate | null): string | undefined {
  if (gate === null || gate.state === 'passed') return undefined
  return gate.state === 'watching' ? 'The gate is still watching.' : 'The gate has failed.'
}
