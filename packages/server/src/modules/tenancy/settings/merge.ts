import { isDeepStrictEqual } from 'node:util'
import type { Sections } from './settings.queries.ts'

type Values = Record<string, unknown>
/** Merges settings field by field; `over` wins. */
export function mergeSections<T extends Sections>(base: T, over: Sections): T {
  const merged: Record<string, Values> = {}
  for (const section of new Set([...Object.keys(base), ...Object.keys(over)]))
    merged[section] = { ...base[section], ...over[section] }
  return merged as T
}

/** Returns the differences as `section.field` → [before, after]. */
export function sectionDifferences<T extends Sections>(before: T, after: T): Record<string, [unknown, unknown]> {
  const found: Record<string, [unknown, unknown]> = {}
  for (const [section, values] of Object.entries(after as Record<string, Values>))
    for (const [field, value] of Object.entries(values)) {
      const was = before[section]?.[field]
      if (!isDeepStrictEqual(was, value)) found[`${section}.${field}`] = [was, value]
    }
  return found
}

/**
 * Returns the fields of `after` that changed. A field that is not set keeps the default, whatever a later version makes
 * it.
 */
export const onlyChanged = <T extends Sections>(before: T, after: T): Sections =>
  Object.fromEntries(
    Object.entries(after as Record<string, Values>).map(([section, values]) => [
      section,
      Object.fromEntries(
        Object.entries(values).filter(([f, value]) => !isDeepStrictEqual(before[section]?.[f], value)),
      ),
    ]),
  )
