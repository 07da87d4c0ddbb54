import type { ChangedKind } from '@holdfast/contract/stream'
import type { ViewList } from '@holdfast/contract/vocabulary'
import type { ReactNode } from 'react'
import type { IconName } from '../ui/icon.tsx'
import type { MenuItem } from '../ui/menu-popover.tsx'

/** A column. `priority` 2 to 5: the higher, the sooner a narrow table hides it. */
export type Column<T> = {
  id: string
  label: string
  priority?: 2 | 3 | 4 | 5
  isNumber?: boolean
  /** The name by which the API sorts, where it can. */
  sort?: string
  /** Shown only when it is chosen. */
  isOptional?: boolean
  cell: (row: T) => ReactNode
}

/** The classes of the cells of a column. */
export const columnClass = <T>({ priority, isNumber }: Column<T>): string | undefined =>
  [priority && `p${priority}`, isNumber && 'n'].filter(Boolean).join(' ') || undefined

/** A filter with named values: a pill that becomes a chip. */
export type Filter = {
  /** The parameter of the API. */
  name: string
  label: string
  /** Before the value, where "<label> is" is wrong: "Unseen for". */
  phrase?: string
  /** Offered under "More filters" until it is in use. */
  isMore?: boolean
  options: readonly { value: string; label: string }[]
}

/** Counts of the values of each filter, by the name of the parameter. */
export type FacetCounts = Readonly<Record<string, readonly { value: string; name: string | null; count: number }[]>>

/** A filter that only a link sets, of an object whose name the rows know. */
type LinkedFilter<T> = { name: string; label: string; nameOf: (row: T) => string | null | undefined }

/** A view that comes with the console: a name for some filters. */
type Preset = { label: string; filters: Readonly<Record<string, string>> }

/** A verb of the bulk bar. */
export type BulkVerb = { id: string; label: string; danger?: boolean; offReason?: string | undefined }

/** What makes one list of the API a page: columns, filters, words. */
export type ListSpec<T> = {
  /** The name of the list in saved views; absent where the API saves none of it. */
  list?: ViewList
  /** The kind by which the stream of changes names it. */
  kind: ChangedKind
  noun: { one: string; many: string }
  icon: IconName
  columns: readonly Column<T>[]
  filters: readonly Filter[]
  linkedFilters?: readonly LinkedFilter<T>[]
  presets: readonly Preset[]
  /** The view without filters; `All` unless given. */
  allLabel?: string
  /** What `q` finds; absent where the list has no `q`. */
  searchHint?: string
  defaultSort: string
  /** How the default order is called in the footer: "Newest first". */
  orderName: string
  idOf: (row: T) => string
  nameOf: (row: T) => string
  /** The second line under the name where columns are hidden. */
  summaryOf?: (row: T) => ReactNode
  /** Beside the name: tags. */
  asideOf?: (row: T) => ReactNode
  iconOf?: (row: T) => IconName
  isGone?: (row: T) => boolean
  menuOf?: (row: T) => readonly MenuItem[]
  /** `holdfast device list`: the line that shows the same. */
  command: string
  /** The options of that line by the parameter of the API, where the names differ; `false`: it has none. */
  options?: Readonly<Record<string, string | false>>
}
