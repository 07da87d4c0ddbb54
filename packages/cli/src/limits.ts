import type { Limits } from '@holdfast/contract/entitlement-limits'
import { type EntitlementMetric, entitlementMetrics } from '@holdfast/contract/vocabulary'
import { type Command, InvalidArgumentError } from 'commander'

export const limiting = (command: Command): Command =>
  command.option(
    '--limit <metric=number...>',
    `limits of the tenant; no number means no limit; metrics: ${entitlementMetrics.join(', ')}`,
    addLimit,
  )

const isMetric = (text: string): text is EntitlementMetric => (entitlementMetrics as readonly string[]).includes(text)

/** Parses `users=50` and adds it to the earlier limits. `users=` removes a limit. */
function addLimit(text: string, before: Limits = {}): Limits {
  const [, metric = '', most = ''] = /^([a-z_]+)=(\d{0,15})$/.exec(text) ?? []
  if (metric === '') throw new InvalidArgumentError('It must look like users=50, or users= for no limit.')
  if (!isMetric(metric))
    throw new InvalidArgumentError(`There is no limit of ${metric}. The limits are: ${entitlementMetrics.join(', ')}.`)
  if (Object.hasOwn(before, metric)) throw new InvalidArgumentError(`The limit of ${metric} is set twice.`)
  return { ...before, [metric]: most === '' ? null : Number(most) }
}

export const limitText = (limit: number | null): number | string => limit ?? 'unlimited'

/** Describes the limits of a license. */
export const describeLimits = (limits: { readonly [metric: string]: number | null }): object | string => {
  const texts = Object.entries(limits).map(([metric, most]) => [metric, limitText(most)])
  return texts.length === 0 ? 'unlimited' : Object.fromEntries(texts)
}
