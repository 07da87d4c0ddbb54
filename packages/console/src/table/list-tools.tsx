import { useMemo } from 'react'
import { Icon } from '../ui/icon.tsx'
import { MenuButton } from '../ui/menu.tsx'
import { toast } from '../ui/toast.tsx'
import { exportCsv } from './export-csv.ts'
import type { ListState } from './list-state.ts'
import type { ListSpec } from './spec.ts'

/** Columns, export and the command line that shows the same list. */
export function ListTools<T>({ spec, state }: { spec: ListSpec<T>; state: ListState }) {
  const chosen = useMemo(
    () => new Set(state.columns ?? spec.columns.filter((c) => !c.isOptional).map((c) => c.id)),
    [state.columns, spec],
  )
  const toggle = (id: string) => {
    const next = spec.columns.filter((c) => (c.id === id ? !chosen.has(id) : chosen.has(c.id))).map((c) => c.id)
    state.set({ cols: next.join(',') })
  }
  const command = commandOf(spec, state)
  return (
    <>
      <MenuButton
        label="Columns"
        trigger={<Icon name="columns" />}
        items={[
          ...spec.columns.slice(1).map((column) => ({
            id: column.id,
            label: column.label,
            ...(chosen.has(column.id) && { icon: 'check' as const }),
            onSelect: () => toggle(column.id),
          })),
          'line' as const,
          { id: 'default', label: 'Default columns', onSelect: () => state.set({ cols: undefined }) },
        ]}
      />
      <MenuButton
        label={`Export these ${spec.noun.many}`}
        trigger={<Icon name="download" />}
        items={[
          ...(spec.list
            ? [
                {
                  ...{ id: 'csv', label: 'Download as CSV', icon: 'download' as const },
                  onSelect: () => void exportCsv(spec, state),
                },
              ]
            : []),
          {
            id: 'command',
            label: 'Copy as a command',
            icon: 'term',
            onSelect: () =>
              void navigator.clipboard.writeText(command).then(() => toast({ title: 'Command copied', text: command })),
          },
        ]}
      />
    </>
  )
}

/** The line that lists the same on the command line. */
export function commandOf<T>(spec: ListSpec<T>, { q, filters, sort }: ListState): string {
  const options = Object.entries({ ...(q && { q }), ...filters, ...(sort !== spec.defaultSort && { sort }) })
  const quoted = (value: string) => (/^[\w.:@/-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`)
  const named = options.flatMap(([name, value]) => {
    const option = spec.options?.[name] ?? name.replaceAll('_', '-')
    return option === false ? [] : [`--${option} ${quoted(value)}`]
  })
  return [spec.command, ...named].join(' ')
}
