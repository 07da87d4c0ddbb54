import type { GateTerms as Given } from '@holdfast/contract/policy-rollout'
import { type CanaryMeasure, canaryMeasures } from '@holdfast/contract/vocabulary'
import type { CanaryHealth, GateTerms } from '../../../db/tables/policy.ts'
import { fisherExact } from './fisher.ts'

/** `tested`: true if the statistical test was made, which counts as a look. */
type Verdict = { state: 'watching' | 'passed' | 'failed'; reason: string; tested: boolean }

/**
 * Upper bound of the probability that chance alone fails a canary, over all looks and all measures. Look n may spend
 * 1/(n(n+1)) of it; these shares add up to 1. So frequent looks cost sensitivity, and do not raise the bound.
 */
export const falseAlarms = 0.01
const spentAt = (look: number): number => falseAlarms / canaryMeasures.length / (look * (look + 1))

export const termsOf = (gateInput: Given): GateTerms => ({
  observe_minutes: gateInput.observe_minutes ?? 60,
  min_devices: gateInput.min_devices ?? 10,
  on_failure: gateInput.on_failure ?? 'hold',
  max_rise_percent: { denials: 5, failed_sessions: 5, posture_failures: 5, ...gateInput.max_rise_percent },
})

const chanceOf = ({ canary, stable }: CanaryHealth, measure: CanaryMeasure): number =>
  fisherExact({ n: canary.devices, troubled: canary[measure] }, { n: stable.devices, troubled: stable[measure] })

/** Compares both channels by each measure. */
export const compareChannels = (health: CanaryHealth) =>
  canaryMeasures.map((measure) => ({
    measure,
    canary_percent: percentOf(health.canary, measure),
    stable_percent: percentOf(health.stable, measure),
    p_value: chanceOf(health, measure),
  }))

/**
 * Judges a canary at its nth look (from 1), some minutes after it began. It fails if a share of devices in trouble rose
 * by more than allowed and chance does not explain that. It passes after the observation period if no share rose by
 * more than allowed. Either needs the minimum number of devices on both channels.
 */
export function judgeRollout(
  terms: GateTerms,
  health: CanaryHealth,
  { look, minutes }: { look: number; minutes: number },
): Verdict {
  const fewest = Math.min(health.canary.devices, health.stable.devices)
  if (fewest < terms.min_devices)
    return {
      state: 'watching',
      tested: false,
      reason: `${health.canary.devices} devices on canary and ${health.stable.devices} on stable reported, but ${terms.min_devices} of each are needed`,
    }
  const risen = canaryMeasures.filter(
    (m) => percentOf(health.canary, m) - percentOf(health.stable, m) > terms.max_rise_percent[m],
  )
  const proven = risen.filter((m) => chanceOf(health, m) <= spentAt(look))
  const say = (measures: readonly CanaryMeasure[]) => measures.map((m) => sayRise(m, health)).join('; ')
  const tested = true
  if (proven.length > 0) return { state: 'failed', tested, reason: say(proven) }
  if (risen.length > 0) return { state: 'watching', tested, reason: `${say(risen)}: the difference may be random` }
  const seen = `no problem is more frequent on canary than its limit allows, with ${health.canary.devices} devices on canary and ${health.stable.devices} on stable`
  return minutes >= terms.observe_minutes
    ? { state: 'passed', tested, reason: seen }
    : { state: 'watching', tested, reason: `${seen}; it passes after ${terms.observe_minutes} minutes` }
}

const percentOf = (channel: CanaryHealth['canary'], measure: CanaryMeasure): number =>
  channel.devices === 0 ? 0 : Math.round((channel[measure] / channel.devices) * 10_000) / 100

const measureText: Record<CanaryMeasure, string> = {
  denials: 'have packets denied',
  failed_sessions: 'could not connect',
  posture_failures: 'fail a posture check',
}
const sayRise = (measure: CanaryMeasure, { canary, stable }: CanaryHealth): string =>
  `${canary[measure]} of ${canary.devices} devices on canary ${measureText[measure]}, ${stable[measure]} of ${stable.devices} on stable`
