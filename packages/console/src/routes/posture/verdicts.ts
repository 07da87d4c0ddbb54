import type { OutputOf } from '../../api/client.ts'
import { useApi } from '../../api/use-api.ts'

type Verdict = OutputOf<'GET /v1/admin/devices'>['items'][number]['posture']['verdict']
type Facets = OutputOf<'GET /v1/admin/devices/facets'>
/** Devices of one value, by what their last report says. */
export type Split = { value: string; compliant: number; fails: number; unknown: number }

/** Only devices that may connect count: what a suspended or revoked one reports decides nothing. */
export const counted = { effective_status: 'active' } as const

/** The list of devices behind a figure. */
export const devicesLink = (filter: Readonly<Record<string, string>>): string =>
  `/admin/devices?${new URLSearchParams({ ...counted, ...filter })}`

/** The counts of each verdict, and of its platforms and systems. The three are read at once and fail as one. */
export function useVerdicts() {
  const compliant = useVerdict('compliant')
  const fails = useVerdict('non_compliant')
  const unknown = useVerdict('unknown')
  const all = [compliant, fails, unknown]
  const data =
    compliant.data && fails.data && unknown.data
      ? { compliant: compliant.data, fails: fails.data, unknown: unknown.data }
      : undefined
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

/** The counts by the values of a facet, those with most failing devices first. */
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
