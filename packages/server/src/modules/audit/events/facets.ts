import type { Contract, Output } from '@holdfast/contract'
import { fail } from '../../../kernel/app-error.ts'
import type { EventFacetRow, FacetName } from './facets.queries.ts'

/** Maximum number of values listed for a facet. The others are counted together. */
const listedAtMost = 50

type Facet = Output<Contract['auditHistogram']>['facets'][number]

/** `kind,actor` → both names. The schema has already checked each. */
export function facetNamesOf(text: string | undefined): FacetName[] {
  const names = (text?.split(',') ?? []) as FacetName[]
  if (new Set(names).size < names.length) fail('bad_request', 'facets: a name is given twice')
  return names
}

/** One facet of a histogram: its most frequent values, each with its count by bucket. */
export function viewFacet(
  facet: FacetName,
  rows: readonly EventFacetRow[],
  { total, buckets }: { total: number; buckets: number },
): Facet {
  const found = [
    ...Map.groupBy(
      rows.filter((r) => r.facet === facet),
      (r) => r.value,
    ),
  ].map(([value, of]) => ({
    value,
    of,
    count: Math.round(of.reduce((sum, r) => sum + r.n, 0)),
  }))
  found.sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
  const listed = found.slice(0, listedAtMost).map(({ value, of, count }) => {
    const byBucket = new Map(of.map((r) => [r.bucket, Math.round(r.n)]))
    const namedRows = of.filter((r) => r.name !== null).sort((a, b) => b.bucket - a.bucket)
    return {
      value,
      name: namedRows[0]?.name ?? null,
      count,
      buckets: Array.from({ length: buckets }, (_, i) => byBucket.get(i + 1) ?? 0),
    }
  })
  return { facet, values: listed, other: Math.max(0, total - listed.reduce((sum, v) => sum + v.count, 0)) }
}
