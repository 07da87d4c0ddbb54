import type { ListState } from './list-state.ts'
import type { FacetCounts, ListSpec } from './spec.ts'

type FilterInUse = { name: string; label: string; value: string }

/** Returns the text and the active filters in words: `Status` `Active`. */
export function filtersInUse<T>(
  { filters, linkedFilters = [] }: Pick<ListSpec<T>, 'filters' | 'linkedFilters'>,
  state: Pick<ListState, 'q' | 'filters'>,
  counts?: FacetCounts,
  rows: readonly T[] = [],
): FilterInUse[] {
  const set = (
    { name, label }: { name: string; label: string },
    wordOf: (value: string) => string | null | undefined,
  ) => {
    const value = state.filters[name]
    return value === undefined ? [] : [{ name, label, value: wordOf(value) ?? value }]
  }
  return [
    ...(state.q === '' ? [] : [{ name: 'q', label: 'Text', value: state.q }]),
    ...filters.flatMap((filter) =>
      set(
        filter,
        (value) =>
          filter.options.find((option) => option.value === value)?.label ??
          counts?.[filter.name]?.find((count) => count.value === value)?.name,
      ),
    ),
    ...linkedFilters.flatMap((filter) => set(filter, () => rows[0] && filter.nameOf(rows[0]))),
  ]
}
