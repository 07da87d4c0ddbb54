import { findNodeAtLocation } from 'jsonc-parser'
import { editText, type Parsed, type Problem, pathOf } from '../../editor/document.ts'

type Fix = { label: string; text: string }

/**
 * Returns the change that a message of the server suggests: another name for a value or a field.
 *
 * @example fixOf(parsed, { field: 'rules[0].to[0]', message: 'unknown resource or host "bd". Did you mean "db"?' … })
 */
export function fixOf(
  { text, tree, document }: Parsed,
  { field, message }: Pick<Problem, 'field' | 'message'>,
): Fix | undefined {
  const [, wrong, better] = /"([^"]+)"\. Did you mean "([^"]+)"/.exec(message) ?? []
  if (wrong === undefined || better === undefined || !tree || !document) return undefined
  const path = pathOf(field)
  const label = `Use ${better}`
  if (message.startsWith('unknown field')) {
    const key = findNodeAtLocation(tree, [...path])?.parent?.children?.[0]
    if (!key) return undefined
    const fixed = `${text.slice(0, key.offset)}${JSON.stringify(better)}${text.slice(key.offset + key.length)}`
    return { label, text: fixed }
  }
  const value: unknown = findNodeAtLocation(tree, [...path])?.value
  if (typeof value !== 'string' || !value.includes(wrong)) return undefined
  return { label, text: editText(text, path, value.replace(wrong, better)) }
}
