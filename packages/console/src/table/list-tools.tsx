import { useMemo } from 'react'
import { messageOf } from '../api/api-error.ts'
import { chooseDensity, densities, useDensity } from '../shell/preferences.ts'
import { copyCommandItem } from '../ui/copy-command.ts'
import { formatWord } from '../ui/format.ts'
import { Icon } from '../ui/icon.tsx'
import { IconButton } from '../ui/icon-button.tsx'
import { MenuButton } from '../ui/menu.tsx'
import { toast } from '../ui/toast.tsx'
import { commandOf } from './command.ts'
import { exportCsv } from './export-csv.ts'
import type { ListState } from './list-state.ts'
import type { ListSpec } from './spec.ts'

const sayNotSaved = (e: unknown) => toast({ kind: 'bad', title: 'No file was saved', text: messageOf(e) })

type Props<T> = { spec: ListSpec<T>; state: ListState; onRefresh: () => void }

/** Refresh, columns, row height, export, and the equivalent command line. */
export function ListTools<T>({ spec, state, onRefresh }: Props<T>) {
  const density = useDensity()
  const chosen = useMemo(
    () => new Set(state.columns ?? spec.columns.filter((c) => !c.isOptional).map((c) => c.id)),
    [state.columns, spec],
  )
  const toggle = (id: string) => {
    const next = spec.columns.filter((c) => (c.id === id ? !chosen.has(id) : chosen.has(c.id))).map((c) => c.id)
    state.set({ cols: next.join(',') })
  }
  return (
    <>
      <IconButton icon="refresh" label="Refresh" onClick={onRefresh} />
      <MenuButton
        label="Columns"
        trigger={<Icon name="columns" />}
        items={[
          ...spec.columns.slice(1).map((column) => ({
            id: column.id,
            label: column.label,
            isOn: chosen.has(column.id),
            onSelect: () => toggle(column.id),
          })),
          'line' as const,
          { id: 'default', label: 'Default columns', onSelect: () => state.set({ cols: undefined }) },
          'line' as const,
          ...densities.map((height) => ({
            id: `rows-${height}`,
            label: `${formatWord(height)} rows`,
            isOn: height === density,
            onSelect: () => chooseDensity(height),
          })),
        ]}
      />
      <MenuButton
        label={`Export these ${spec.noun.many}`}
        trigger={<Icon name="download" />}
        items={[
          ...(spec.list
            ? [
                {
                  id: 'csv',
                  label: 'Download as CSV',
                  icon: 'download' as const,
                  onSelect: () => void exportCsv(spec, state).catch(sayNotSaved),
                },
              ]
            : []),
          copyCommandItem(commandOf(spec, state)),
        ]}
      />
    </>
  )
}
