import type { ChangedKind } from '@holdfast/contract/stream'
import type { ViewList } from '@holdfast/contract/vocabulary'
import type { ReactNode } from 'react'
import type { IconName } from '../ui/icon.tsx'
import type { MenuItem } from '../ui/menu-popover.tsx'

/** Column. `priority` 2 to 5: a narrow table hides higher values first. */
export type Column<T> = {
  id: string
  label: string
  priority?: 2 | 3 | 4 | 5
  isNumber?: boolean
  /** API name for sorting, if the API sorts by it. */
  sort?: string
  /** Hidden by default. */
  isOptional?: boolean
  cell: (row: T) => ReactNode
}

/** Returns the CSS classes for cells of a column. */
export const columnClass = <T>({ priority, isNumber }: Column<T>): string | undefined =>
  [priority && `p${priority}`, isNumber && 'n'].filter(Boolean).join(' ') || undefined

/** Filter with named values: a pill that becomes a chip. */
export type Filter = {
  /** Parameter of the API. */
  name: string
  label: string
  /** Text before the value, if "<label> is" is wrong: "Unseen for". */
  phrase?: string
  /** Offered under "More filters" until it is active. */
  isMore?: boolean
  options: readonly { value: string; label: string }[]
}

/** Counts of each value of each filter, by the name of the parameter. */
export type FacetCounts = Readonly<Record<string, readonly { value: string; name: string | null; count: number }[]>>

/** Filter that only a link sets. The rows contain the name of its object. */
type LinkedFilter<T> = { name: string; label: string; nameOf: (row: T) => string | null | undefined }

/** Built-in view of the console: a name for some filters. */
type Preset = { label: string; filters: Readonly<Record<string, string>> }

/** Action in the bulk bar. */
export type BulkVerb = { id: string; label: string; danger?: boolean; offReason?: string | undefined }

/** Definition of a list page: columns, filters, words. */
export type ListSpec<T> = {
  /** Name of the list in saved views; absent if the API saves no views of it. */
  list?: ViewList
  /** Kind of its objects in the stream of changes. */
  kind: ChangedKind
  noun: { one: string; many: string }
  icon: IconName
  columns: readonly Column<T>[]
  filters: readonly Filter[]
  linkedFilters?: readonly LinkedFilter<T>[]
  presets: readonly Preset[]
  /** Label of the view without filters; default: `All`. */
  allLabel?: string
  /** Fields that `q` searches; absent if the list has no `q`. */
  searchHint?: string
  defaultSort: string
  /** Name of the default order in the footer: "Newest first". */
  orderName: string
  idOf: (row: T) => string
  nameOf: (row: T) => string
  /** Second line under the name, shown where columns are hidden. */
  summaryOf?: (row: T) => ReactNode
  /** Second line under the name that is always shown, for lists of people. */
  lineOf?: (row: T) => ReactNode
  /** Content beside the name: tags. */
  asideOf?: (row: T) => ReactNode
  iconOf?: (row: T) => IconName
  /** Picture before the name, in place of the icon. */
  pictureOf?: (row: T) => ReactNode
  isGone?: (row: T) => boolean
  menuOf?: (row: T) => readonly MenuItem[]
  /** Equivalent command line: `holdfast device list`. */
  command: string
  /** Options of that command by API parameter, where the names differ; `false` if it has none. */
  options?: Readonly<Record<string, string | false>>
}
