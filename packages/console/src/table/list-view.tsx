import { type ReactNode, useEffect, useMemo, useRef } from 'react'
import type { ApiError } from '../api/api-error.ts'
import { markFresh, useStale } from '../api/live.ts'
import { selectedTenant } from '../api/selected-tenant.ts'
import { classes } from '../ui/classes.ts'
import { FilteredEmpty } from '../ui/empty-state.tsx'
import { formatNumber } from '../ui/format.ts'
import { QueryView } from '../ui/query-view.tsx'
import { SearchOn } from '../ui/search-on.tsx'
import { SkeletonTable } from '../ui/skeleton.tsx'
import { useFirstData } from '../ui/use-first-data.ts'
import { useStable } from '../ui/use-stable.ts'
import { DataTable } from './data-table.tsx'
import { FilterBar } from './filter-bar.tsx'
import { filtersInUse } from './filters-in-use.ts'
import { ListFooter } from './list-footer.tsx'
import { type ListState, pageSize } from './list-state.ts'
import { ListTools } from './list-tools.tsx'
import { SavedViews } from './saved-views.tsx'
import type { Selection } from './selection.ts'
import type { Walk } from './side-panel.tsx'
import type { FacetCounts, ListSpec } from './spec.ts'
import { useListKeys } from './use-list-keys.ts'

/** Query of a page of a list; `useApi` has this shape. */
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
  head: ReactNode
  firstRun: ReactNode
  bulk?: ReactNode
  /** Panel beside the list, while the address names an object. */
  panel: (walk: Walk) => ReactNode
}

/** List of the API as a page: saved views, filters, table, footer, panel, and all states of a query. */
export function ListView<T>(props: Props<T>) {
  const { spec, state, query, counts, selection, verbs, head, bulk, panel } = props
  const list = useRef<HTMLDivElement>(null)
  const stale = useStale(spec.kind)
  const { refetch, dataUpdatedAt } = query
  const data = useFirstData(query.data)
  const close = () => state.set({ open: undefined, tab: undefined })
  useEffect(() => {
    if (dataUpdatedAt > 0) markFresh(spec.kind)
  }, [dataUpdatedAt, spec.kind])
  const keys = useMemo(
    () => ({
      selection,
      openId: state.open,
      ...(verbs && { verbs }),
      onRefresh: () => void refetch(),
      onEscape: () => (state.open ? state.set({ open: undefined, tab: undefined }) : selection?.clear()),
    }),
    [selection, verbs, refetch, state],
  )
  useListKeys(list, keys)
  return (
    <div className="split">
      <div
        className={classes('page list', query.error !== null && data !== undefined && 'failed')}
        ref={list}
        aria-busy={query.isFetching}
      >
        {query.isFetching && data && <div className="bar-busy" />}
        {head}
        {!isFirstRun(props) && (
          <>
            <SavedViews spec={spec} state={state} counts={counts} />
            <FilterBar
              {...{ spec, state, counts }}
              rows={query.data?.items}
              isWaiting={!query.data && !query.error}
              tools={<ListTools spec={spec} state={state} onRefresh={() => void refetch()} />}
            />
          </>
        )}
        <Rows {...props} />
        {data && (data.items.length > 0 || state.cursor !== undefined) && (
          <ListFooter
            state={state}
            sentence={sentenceOf(props)}
            nextCursor={data.next_cursor}
            stale={stale}
            onRefresh={() => void refetch()}
            selects={selection !== undefined}
          />
        )}
        {bulk}
      </div>
      {state.open !== undefined &&
        panel({
          id: state.open,
          ids: query.data?.items.map(spec.idOf) ?? [],
          onMove: (id) => state.set({ open: id }, { replace: true }),
          onClose: close,
        })}
    </div>
  )
}

const isFiltered = ({ q, filters }: ListState) => q !== '' || Object.keys(filters).length > 0
/** True if the list has no objects, even without filters. */
const isFirstRun = <T,>({ state, query: { data } }: Props<T>) =>
  data?.items.length === 0 && data.next_cursor === null && state.cursor === undefined && !isFiltered(state)

function Rows<T>({ spec, state, query, counts, selection, hrefOf, firstRun }: Props<T>) {
  const open = useStable((id: string) => state.set({ open: id }))
  const { columns: chosen } = state
  const columns = useMemo(() => {
    if (!chosen) return spec.columns.filter((column) => !column.isOptional)
    // A chosen column is shown in every table wider than a phone.
    return spec.columns
      .filter((column, i) => i === 0 || chosen.includes(column.id))
      .map((column) => (column.priority || column.isOptional ? { ...column, priority: 2 as const } : column))
  }, [spec, chosen])
  return (
    <QueryView
      query={query}
      what={spec.noun.many}
      waiting={<SkeletonTable heads={columns.map((column) => column.label)} />}
    >
      {({ items, next_cursor: next }) =>
        items.length === 0 && next !== null ? (
          <SearchOn many={spec.noun.many} onNext={() => state.toNext(next)} />
        ) : items.length > 0 || state.cursor !== undefined ? (
          <DataTable
            spec={spec}
            columns={columns}
            rows={items}
            sort={state.sort}
            onSort={(sort) => state.set({ sort: sort === spec.defaultSort ? undefined : sort })}
            openId={state.open}
            hrefOf={(id) => withTenant(hrefOf(id))}
            onOpen={open}
            selection={selection}
          />
        ) : isFiltered(state) ? (
          <NothingMatches spec={spec} state={state} counts={counts} />
        ) : (
          firstRun
        )
      }
    </QueryView>
  )
}

/** Adds the tenant to a link, since a new tab has no address to take it from. */
function withTenant(path: string): string {
  const tenant = selectedTenant()
  return tenant ? `${path}${path.includes('?') ? '&' : '?'}tenant=${tenant}` : path
}

function NothingMatches<T>({ spec, state, counts }: Pick<Props<T>, 'spec' | 'state' | 'counts'>) {
  const filters = filtersInUse(spec, state, counts)
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
