import type { Contract, Output } from '@holdfast/contract'
import type { KeptOf } from '../../db/kept.ts'
import { day, hour, minute } from '../../kernel/time.ts'
import type { Measured } from './retention.queries.ts'
import type { RetentionState } from './retention.ts'

type View = Output<Contract['getRetention']>

const leastDays = { audit: 30, others: 7 }
/** When the jobs that purge run (`app-jobs.ts`): each hour, and each night what lies by months. */
const hourlyAt = 30 * minute
const nightlyAt = 3 * hour + 10 * minute
const byMonths: readonly string[] = ['vpn_sessions', 'telemetry', 'metering']

export function viewRetention(state: RetentionState, kept: KeptOf): View {
  const { days, settlesAt, measured, cut, distrustedUntil, at } = state
  return {
    days,
    settles_at: settlesAt && settlesAt > at ? settlesAt.toISOString() : null,
    clock_trusted_from: distrustedUntil?.toISOString() ?? null,
    record_begins_after: cut
      ? {
          seq: cut.up_to,
          hash: cut.hash.toString('hex'),
          purged_at: cut.purged_at.toISOString(),
          kept_days: cut.kept_days,
        }
      : null,
    classes: measured.map((m) => viewClass(m, state, kept)),
  }
}

function viewClass(m: Measured, state: RetentionState, kept: KeptOf): View['classes'][number] {
  const { usual, most, source } = kept[m.class]
  const own = state.days[m.class]
  const bounded = own !== null && most !== null ? Math.min(own, most) : (own ?? usual)
  const purge = state.purges.get(m.class)
  return {
    class: m.class,
    days: bounded,
    source: own !== null && own === bounded ? 'tenant' : source,
    min_days: m.class === 'audit' ? leastDays.audit : leastDays.others,
    max_days: most,
    oldest: m.oldest?.toISOString() ?? null,
    rows: m.n,
    rows_are: m.is_estimate ? 'estimated' : 'counted',
    bytes: m.bytes,
    last_purge: purge
      ? {
          at: purge.purged_at.toISOString(),
          up_to: purge.up_to.toISOString(),
          count: purge.unrecorded > 0 ? purge.unrecorded : purge.purged,
        }
      : null,
    next_purge: bounded === null || m.all_held ? null : nextPurge(m.class, own, state).toISOString(),
    legal_hold: m.all_held ? 'all' : m.held ? 'partial' : 'none',
  }
}

function nextPurge(name: string, own: number | null, { at, settlesAt, distrustedUntil }: RetentionState): Date {
  const from = Math.max(at.getTime(), settlesAt?.getTime() ?? 0, distrustedUntil?.getTime() ?? 0)
  const [every, offset] = byMonths.includes(name) && own === null ? [day, nightlyAt] : [hour, hourlyAt]
  return new Date(Math.ceil((from - offset) / every) * every + offset)
}
