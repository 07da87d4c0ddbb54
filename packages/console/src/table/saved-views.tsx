import { lazy, Suspense, useState } from 'react'
import { useApi } from '../api/use-api.ts'
import { Button } from '../ui/button.tsx'
import { formatNumber } from '../ui/format.ts'
import type { ListState } from './list-state.ts'
import type { FacetCounts, ListSpec } from './spec.ts'
import { type SavedView, ViewMenu } from './view-menu.tsx'

const SaveView = lazy(async () => ({ default: (await import('./save-view.tsx')).SaveView }))

/** Query parameters that a view sets: its filters, order and columns. */
type ViewQuery = Readonly<Record<string, string>>
type View = { key: string; label: string; query: ViewQuery; count?: number | undefined; saved?: SavedView }

type Props<T> = { spec: ListSpec<T>; state: ListState; counts: FacetCounts | undefined }

/** Built-in views of the list, then the caller's own and the shared ones. */
export function SavedViews<T>({ spec, state, counts }: Props<T>) {
  const [isSaving, setSaving] = useState(false)
  const { list } = spec
  const { data } = useApi(
    'GET /v1/admin/views',
    { query: { ...(list && { list }), limit: 200 } },
    { enabled: list !== undefined },
  )
  const now = queryOf(spec, state)
  const open = (query: ViewQuery) => {
    const cleared = Object.fromEntries([...Object.keys(now), 'sort'].map((name) => [name, undefined]))
    state.set({ ...cleared, open: undefined, ...query })
  }
  const views: View[] = [
    { key: 'all', label: spec.allLabel ?? 'All', query: {} },
    ...spec.presets.map(({ label, filters }) => ({
      key: label,
      label,
      query: filters,
      count: countOf(filters, counts),
    })),
    ...(data?.items ?? []).map((saved) => ({ key: saved.view_id, label: saved.name, query: saved.query, saved })),
  ]
  const current = views.find((view) => isSame(view.query, now))
  return (
    <nav className="views" aria-label="Saved views">
      {views.map((view) => (
        <button
          key={view.key}
          type="button"
          className="tab"
          {...(view === current && { 'aria-current': 'true' as const })}
          onClick={() => open(view.query)}
        >
          {view.label}
          {view.count !== undefined && <span className="q">{formatNumber(view.count)}</span>}
        </button>
      ))}
      {current?.saved && <ViewMenu view={current.saved} onDeleted={() => open({})} />}
      {list && !current && (
        <Button kind="ghost" size="sm" icon="plus" onClick={() => setSaving(true)}>
          Save view
        </Button>
      )}
      {list && isSaving && (
        <Suspense>
          <SaveView list={list} query={now} onClose={() => setSaving(false)} />
        </Suspense>
      )}
    </nav>
  )
}

/** Returns the number of objects in a view with one filter, if the counts of the list include it. */
function countOf(filters: ViewQuery, counts: FacetCounts | undefined): number | undefined {
  const [[name, value] = ['', ''], ...others] = Object.entries(filters)
  const found = counts?.[name]
  return found && others.length === 0 ? found.find((c) => c.value === value)?.count : undefined
}

function queryOf<T>(spec: ListSpec<T>, { q, filters, sort }: ListState): ViewQuery {
  return { ...filters, ...(q && { q }), ...(sort !== spec.defaultSort && { sort }) }
}

function isSame(a: ViewQuery, b: ViewQuery): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].every((name) => a[name] === b[name])
}
