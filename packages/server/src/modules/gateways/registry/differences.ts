import type { Changed } from '../../audit/index.ts'

/** The given fields that are not what they were: field → [before, after]. */
export const differences = (before: object, patch: object): Changed => {
  const was = new Map(Object.entries(before))
  return Object.fromEntries(
    Object.entries(patch)
      .filter(([field, value]) => canonical(value) !== canonical(was.get(field)))
      .map(([field, value]) => [field, [was.get(field), value] as const]),
  )
}

/** The database gives the keys of JSON back in another order. */
const canonical = (value: unknown) =>
  JSON.stringify(value, (_key, v: unknown) =>
    typeof v === 'object' && v !== null && !Array.isArray(v) ? Object.fromEntries(Object.entries(v).sort()) : v,
  )
