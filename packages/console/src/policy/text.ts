/** Most characters of a value that stays on one line. */
const lineLength = 84

/**
 * Prints a policy document: each entry begins on its own line, and short values stay on one line.
 *
 * @example textOf({ rules: [{ id: 'a', to: ['wiki'] }] })
 * // {
 * //   "rules": [
 * //     {
 * //       "id": "a",
 * //       "to": ["wiki"]
 * //     }
 * //   ]
 * // }
 */
export const textOf = (document: unknown): string => print(document, 0)

/** Fields in the order in which a person reads them. The server returns them in an order of its own. */
const order = [
  ...[
    'schema',
    'id',
    'name',
    'description',
    'action',
    'from',
    'except',
    'to',
    'ports',
    'when',
    'via',
    'expires_at',
    'log',
  ],
  ...['any', 'users', 'groups', 'tags', 'devices', 'user', 'group', 'tag', 'device', 'platform', 'allow', 'deny'],
  ...['hosts', 'resources', 'posture_checks', 'rules', 'tests', 'settings', 'cidrs', 'dns', 'services', 'pool'],
  ...['expression', 'platforms', 'freshness_seconds', 'severity', 'enforcement', 'remediation', 'posture', 'time'],
]
const ranks = new Map(order.map((field, i) => [field, i]))
const rankOf = (field: string): number => ranks.get(field) ?? order.length

/** Returns a document of the server with its fields in reading order. Names of entries keep their order. */
export function inReadingOrder<T>(value: T): T {
  if (Array.isArray(value)) return value.map(inReadingOrder) as T
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([field, one]) => [field, inReadingOrder(one) as unknown] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => rankOf(a) - rankOf(b))) as T
}

/** Prints a value as it stands inside a document. @param place a field of the document, an entry of it, or a rule */
export const textInside = (value: unknown, place: 'field' | 'entry' | 'item'): string =>
  print(value, place === 'field' ? 1 : 2, place === 'item')

function print(value: unknown, depth: number, isItem = false): string {
  const isList = Array.isArray(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value)
  if (entries.length === 0) return isList ? '[]' : '{}'
  // The document, its parts, and its rules and tests always take several lines.
  if (depth >= 2 && !isItem) {
    const flat = inline(value)
    if (flat.length <= lineLength - 2 * depth) return flat
  }
  const lines = entries.map(([key, entry]) => {
    const text = print(entry, depth + 1, isList && depth === 1)
    return `  ${isList ? '' : `${JSON.stringify(key)}: `}${text.replaceAll('\n', '\n  ')}`
  })
  return `${isList ? '[' : '{'}\n${lines.join(',\n')}\n${isList ? ']' : '}'}`
}

function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value)
  return entries.length === 0
    ? '{}'
    : `{ ${entries.map(([key, v]) => `${JSON.stringify(key)}: ${inline(v)}`).join(', ')} }`
}
