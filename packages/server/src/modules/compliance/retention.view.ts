import type { Contract, Output } from '@holdfast/contract'
import { retentionClasses } from '@holdfast/contract/vocabulary'
import { hour, minute } from '../../kernel/time.ts'
import type { Period } from './retention.queries.ts'
import type { RetentionState } from './retention.ts'

type View = Output<Contract['getRetention']>

/** Minutes of the hour at which the purge jobs run (`app-jobs.ts`): one for rows, one for monthly partitions. */
const rowsAt = 30 * minute
const monthsAt = 10 * minute
const byMonths: readonly string[] = ['vpn_sessions', 'telemetry', 'metering']

export function viewRetention(state: RetentionState): View {
  const { days, settlesAt, periods, beginning, distrustedUntil, at } = state
  const byClass = new Map(periods.map((p) => [p.class, p]))
  return {
    days,
    settles_at: settlesAt > at ? settlesAt.toISOString() : null,
    clock_trusted_from: distrustedUntil?.toISOString() ?? null,
    record_begins_after: beginning ? { seq: beginning.seq, hash: beginning.hash.toString('hex') } : null,
    classes: retentionClasses.flatMap((name) => byClass.get(name) ?? []).map((p) => viewClass(p, state)),
  }
}

function viewClass(p: Period, state: RetentionState): View['classes'][number] {
  const own = state.days[p.class]
  const purge = state.purges.get(p.class)
  return {
    class: p.class,
    days: p.days,
    source: own !== null && own === p.days ? 'tenant' : p.most === null ? 'default' : 'deployment',
    min_days: p.least,
    max_days: p.most,
    oldest: p.oldest && new Date(p.oldest).toISOString(),
    rows: p.n,
    rows_are: p.is_estimate ? 'estimated' : 'counted',
    bytes: p.bytes,
    over: state.over.get(p.class) ?? 0,
    last_purge: purge
      ? {
          at: purge.purged_at.toISOString(),
          up_to: purge.up_to.toISOString(),
          count: purge.unrecorded > 0 ? purge.unrecorded : purge.purged,
        }
      : null,
    next_purge: p.days === null || p.all_held ? null : nextPurge(p, own, state).toISOString(),
    legal_hold: p.all_held ? 'all' : p.held ? 'partial' : 'none',
  }
}

/** A monthly partition is dropped only when all of it has expired. */
function nextPurge(p: Period, own: number | null, { at, over, settlesAt, distrustedUntil }: RetentionState): Date {
  const goesByMonths = byMonths.includes(p.class) && own === null
  const isAwaited = goesByMonths && !over.get(p.class)
  const moments = [at, settlesAt, p.settles_at, distrustedUntil ?? at, isAwaited ? wholeMonthOver(p, at) : at]
  const from = Math.max(...moments.map((date) => date.getTime()))
  const offset = goesByMonths ? monthsAt : rowsAt
  return new Date(Math.ceil((from - offset) / hour) * hour + offset)
}
function wholeMonthOver({ oldest, days }: Period, at: Date): Date {
  const first = new Date(oldest ?? at)
  return new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 1 + (days ?? 0)))
}
