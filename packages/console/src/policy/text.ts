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
