import type { OutputOf } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'
import { useFirstData } from '../../ui/use-first-data.ts'

type Verdict = OutputOf<'GET /v1/admin/devices'>['items'][number]['posture']['verdict']
type Facets = OutputOf<'GET /v1/admin/devices/facets'>
/** Devices with one value, counted by the verdict of their last report. */
export type Split = { value: string; compliant: number; fails: number; unknown: number }

/** Filter for active devices. Suspended and revoked devices cannot connect, so their reports have no effect. */
export const counted = { effective_status: 'active' } as const

/** Returns the address of the list of devices behind a figure. */
export const devicesLink = (filter: Readonly<Record<string, string>>): string =>
  `/admin/devices?${new URLSearchParams({ ...counted, ...filter })}`

/**
 * Returns the counts of each verdict, and of its platforms and systems. The three reads run together; if one fails, all
 * fail.
 */
export function useVerdicts() {
  const compliant = useVerdict('compliant')
  const fails = useVerdict('non_compliant')
  const unknown = useVerdict('unknown')
  const all = [compliant, fails, unknown]
  const data = useFirstData(
    compliant.data && fails.data && unknown.data
      ? { compliant: compliant.data, fails: fails.data, unknown: unknown.data }
      : undefined,
  )
  return {
    data,
    error: all.find((query) => query.error)?.error ?? null,
    refetch: () => Promise.all(all.map((query) => query.refetch())),
    dataUpdatedAt: Math.min(...all.map((query) => query.dataUpdatedAt)),
  }
}
export type Verdicts = NonNullable<ReturnType<typeof useVerdicts>['data']>

const useVerdict = (posture: Verdict) =>
  useApi('GET /v1/admin/devices/facets', { query: { ...counted, posture } }, { everyMs: 60_000 })

/** Returns the counts by the values of a facet, sorted by failing devices, highest first. */
export function splitBy(facet: 'platform' | 'os_version', { compliant, fails, unknown }: Verdicts): Split[] {
  const countIn = ({ facets }: Facets, value: string) => facets[facet].find((f) => f.value === value)?.count ?? 0
  const values = new Set([compliant, fails, unknown].flatMap(({ facets }) => facets[facet].map((f) => f.value)))
  return Array.from(values, (value) => ({
    value,
    compliant: countIn(compliant, value),
    fails: countIn(fails, value),
    unknown: countIn(unknown, value),
  })).sort((a, b) => b.fails - a.fails || b.compliant + b.unknown - a.compliant - a.unknown)
}
