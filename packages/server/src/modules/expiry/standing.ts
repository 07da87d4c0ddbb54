import { expiryDays } from '@holdfast/contract/limits'
import type { ExpiryStatus } from '@holdfast/contract/vocabulary'
import type { ExpiringObject } from '../../kernel/expiring-object.ts'
import { day } from '../../kernel/time.ts'

/** Days before the end at which administrators are notified, nearest first. */
const thresholds = [expiryDays.critical, 7, 14, expiryDays.warning] as const
export type Threshold = (typeof thresholds)[number]
export const firstWarning = expiryDays.warning * day

/** True while nobody has to act: no renewal is needed, or the automatic one is not overdue yet. */
export const renewsItself = ({ renewal }: Pick<ExpiringObject, 'renewal'>, at: Date): boolean =>
  renewal === 'not_needed' || (renewal instanceof Date && at < renewal)

/**
 * Returns the span in which an item of a status ends: later than `after` and, if set, no later than `until`. Only for
 * items that somebody has to renew.
 */
export function endsWhile(status: ExpiryStatus, at: Date): { after: Date; until?: Date } {
  const { critical, warning } = expiryDays
  const after = (days: number) => new Date(at.getTime() + days * day)
  if (status === 'expired') return { after: new Date(0), until: at }
  if (status === 'critical') return { after: at, until: after(critical) }
  return status === 'warning' ? { after: after(critical), until: after(warning) } : { after: after(warning) }
}

export function expiryStatusOf(expiry: Pick<ExpiringObject, 'renewal' | 'expiresAt'>, at: Date): ExpiryStatus {
  if (renewsItself(expiry, at)) return 'ok'
  const days = daysUntilEnd(expiry, at)
  if (days <= 0) return 'expired'
  return days <= expiryDays.critical ? 'critical' : days <= expiryDays.warning ? 'warning' : 'ok'
}

/**
 * Returns the nearest threshold that has passed. An item renewed by hand skips a threshold that is not shorter than its
 * whole lifetime. An item that should have renewed itself skips none.
 */
export function thresholdOf(expiry: ExpiringObject, at: Date): Threshold | undefined {
  if (renewsItself(expiry, at)) return undefined
  const left = daysUntilEnd(expiry, at)
  const days = thresholds.find((d) => left <= d)
  if (days === undefined) return undefined
  return expiry.renewal === 'by_hand' && daysUntilEnd(expiry, expiry.since) <= days ? undefined : days
}

export const daysUntilEnd = ({ expiresAt }: Pick<ExpiringObject, 'expiresAt'>, at: Date): number =>
  (expiresAt.getTime() - at.getTime()) / day
