import { type ReactNode, useEffect, useMemo, useRef } from 'react'
import type { ApiError } from '../api/api-error.ts'
import { markFresh, useStale } from '../api/live.ts'
import { selectedTenant } from '../api/selected-tenant.ts'
import { FilteredEmpty } from '../ui/empty-state.tsx'
import { formatNumber } from '../ui/format.ts'
import { Problem } from '../ui/problem.tsx'
import { SkeletonRows } from '../ui/skeleton.tsx'
import { DataTable } from './data-table.tsx'
import { type FacetCounts, FilterBar } from './filter-bar.tsx'
import { ListFooter } from './list-footer.tsx'
import type { ListState } from './list-state.ts'
import { ListTools } from './list-tools.tsx'
import { SavedViews } from './saved-views.tsx'
import type { Selection } from './selection.ts'
import type { ListSpec } from './spec.ts'
import { useListKeys } from './use-list-keys.ts'

/** Rows that a page of a list has. */
export const pageSize = 100

/** What a list page gives of its query; `useApi` has this shape. */
type Query<T> = {
  data:
    | { items: readonly T[]; next_cursor: string | null; total?: { count: number; exact: boolean } | undefined }
    | undefined
  error: ApiError | null
  isFetching: boolean
  isPlaceholderData: boolean
  dataUpdatedAt: number
  refetch: () => unknown
}

type Props<T> = {
  spec: ListSpec<T>
  state: ListState
  query: Query<T>
  counts?: FacetCounts | undefined
  selection?: Selection
  verbs?: Readonly<Record<string, (id: string) => void>>
  hrefOf: (id: string) => string
  /** Without one, `Enter` and a click follow the link. */
  onOpen: (id: string) => void
  head: ReactNode
  firstRun: ReactNode
  bulk?: ReactNode
}

/** A list of the API as a page: saved views, filters, table, footer, and every state that it can be in. */
export function ListView<T>(props: Props<T>) {
  const { spec, state, query, counts, selection, verbs, head, bulk } = props
  const list = useRef<HTMLDivElement>(null)
  const stale = useStale(spec.kind)
  const { refetch, dataUpdatedAt } = query
  useEffect(() => {
    if (dataUpdatedAt > 0) markFresh(spec.kind)
  }, [dataUpdatedAt, spec.kind])
  const keys = useMemo(
    () => ({
      selection,
      ...(verbs && { verbs }),
      onRefresh: () => void refetch(),
      onEscape: () => (state.open ? state.set({ open: undefined }) : selection?.clear()),
    }),
    [selection, verbs, refetch, state],
  )
  useListKeys(list, keys)
  return (
    <div className="page list" ref={list} aria-busy={query.isFetching}>
      {query.isFetching && query.data && <div className="bar-busy" />}
      {head}
      <SavedViews spec={spec} state={state} />
      <FilterBar spec={spec} state={state} counts={counts} tools={<ListTools spec={spec} state={state} />} />
      <Rows {...props} />
      {query.data && (
        <ListFooter
          state={state}
          sentence={sentenceOf(props)}
          nextCursor={query.data.next_cursor}
          stale={stale}
          onRefresh={() => void refetch()}
        />
      )}
      {bulk}
    </div>
  )
}

function Rows<T>({ spec, state, query, selection, hrefOf, onOpen, firstRun }: Props<T>) {
  const columns = useMemo(
    () =>
      spec.columns.filter((column, i) =>
        i === 0 ? true : state.columns ? state.columns.includes(column.id) : !column.isOptional,
      ),
    [spec, state.columns],
  )
  const { data, error } = query
  if (error && !data) return <Problem error={error} what={spec.noun.many} retry={query.refetch} />
  if (!data) return <SkeletonRows columns={columns.length} />
  const isFiltered = state.q !== '' || Object.keys(state.filters).length > 0
  if (data.items.length === 0 && state.cursor === undefined)
    return isFiltered ? <NothingMatches spec={spec} state={state} /> : firstRun
  return (
    <>
      {error && <Problem error={error} what={spec.noun.many} retry={query.refetch} asOf={query.dataUpdatedAt} />}
      <DataTable
        spec={spec}
        columns={columns}
        rows={data.items}
        sort={state.sort}
        onSort={(sort) => state.set({ sort: sort === spec.defaultSort ? undefined : sort })}
        openId={state.open}
        hrefOf={(id) => withTenant(hrefOf(id))}
        onOpen={onOpen}
        selection={selection}
      />
    </>
  )
}

/** For a link that is opened in another tab, which has no history to keep the tenant. */
function withTenant(path: string): string {
  const tenant = selectedTenant()
  return tenant ? `${path}${path.includes('?') ? '&' : '?'}tenant=${tenant}` : path
}

function NothingMatches<T>({ spec, state }: { spec: ListSpec<T>; state: ListState }) {
  const filters = [
    ...(state.q === '' ? [] : [{ name: 'q', label: 'Text', value: state.q }]),
    ...spec.filters.flatMap(({ name, label, options }) => {
      const value = state.filters[name]
      if (value === undefined) return []
      const shown = options.find((option) => option.value === value)?.label ?? value
      return [{ name, label, value: shown }]
    }),
  ]
  const all = Object.fromEntries(['q', ...Object.keys(state.filters)].map((name) => [name, undefined]))
  return (
    <FilteredEmpty
      title={`No ${spec.noun.many} match`}
      filters={filters}
      onClear={(name) => state.set({ [name]: undefined })}
      onClearAll={() => state.set(all)}
    />
  )
}

function sentenceOf<T>({ spec, state, query }: Props<T>): string {
  const { items = [], next_cursor: next, total } = query.data ?? {}
  const first = state.before.length * pageSize + 1
  const rows = `rows ${formatNumber(first)}–${formatNumber(first + items.length - 1)}`
  const order = state.sort === spec.defaultSort ? spec.orderName : undefined
  const isWhole = state.cursor === undefined && !next
  const count = isWhole ? items.length : total?.count
  const many = count === 1 ? spec.noun.one : spec.noun.many
  const whole = count === undefined ? undefined : `${isWhole || total?.exact ? '' : '≈ '}${formatNumber(count)} ${many}`
  return [whole, isWhole ? undefined : rows, order].filter(Boolean).join(' · ')
}
