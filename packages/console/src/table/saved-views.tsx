import { lazy, Suspense, useState } from 'react'
import { useApi } from '../api/use-api.ts'
import { Button } from '../ui/button.tsx'
import type { ListState } from './list-state.ts'
import type { ListSpec } from './spec.ts'

const SaveView = lazy(async () => ({ default: (await import('./save-view.tsx')).SaveView }))

/** What a view sets in the address: its filters, order and columns. */
type ViewQuery = Readonly<Record<string, string>>

/** Views that come with the list, then the saved ones: the own and the shared. */
export function SavedViews<T>({ spec, state }: { spec: ListSpec<T>; state: ListState }) {
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
  const views = [
    { key: 'all', label: spec.allLabel ?? 'All', query: {} as ViewQuery },
    ...spec.presets.map(({ label, filters }) => ({ key: label, label, query: filters })),
    ...(data?.items ?? []).map((view) => ({ key: view.view_id, label: view.name, query: view.query as ViewQuery })),
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
        </button>
      ))}
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

function queryOf<T>(spec: ListSpec<T>, { q, filters, sort }: ListState): ViewQuery {
  return { ...filters, ...(q && { q }), ...(sort !== spec.defaultSort && { sort }) }
}

function isSame(a: ViewQuery, b: ViewQuery): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].every((name) => a[name] === b[name])
}
