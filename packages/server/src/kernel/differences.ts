export type Differences = Record<string, readonly [before: unknown, after: unknown]>

/** Returns the changed fields: field → [before, after]. */
export function differences(before: object, after: object): Differences {
  const was = new Map<string, unknown>(Object.entries(before))
  return Object.fromEntries(
    Object.entries(after)
      .filter(([field, value]) => ordered(value) !== ordered(was.get(field)))
      .map(([field, value]) => [field, [was.get(field), value] as const]),
  )
}

/** Serialises with sorted keys, since the database returns JSON keys in another order. */
const ordered = (value: unknown) =>
  JSON.stringify(value, (_key, v: unknown) =>
    typeof v === 'object' && v !== null && !Array.isArray(v) && !(v instanceof Date)
      ? Object.fromEntries(Object.entries(v).sort())
      : v,
  )
