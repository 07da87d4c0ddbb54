import { getLocation } from 'jsonc-parser'
import { choicesOf, type Path, type Schema, schemaAt } from './schema.ts'

/** Names that a document may use, by their kind. */
export type Names = {
  users: (text: string) => Promise<readonly string[]>
  groups: (text: string) => Promise<readonly string[]>
  tags: (text: string) => Promise<readonly string[]>
  devices: (text: string) => Promise<readonly string[]>
  pools: (text: string) => Promise<readonly string[]>
  /** Names that the document itself defines. */
  own: (part: 'resources' | 'hosts' | 'groups' | 'posture_checks') => readonly string[]
}
/** A text to complete: where it begins and ends, and what fits there. */
export type Completion = { from: number; to: number; options: readonly Option[] }
type Option = { label: string; insert: string; kind: 'field' | 'value' | 'name'; info?: string | undefined }

/**
 * Returns what fits at a position of a text: field names of the schema, values of an enumeration, and names of the
 * tenant and of the document.
 */
export async function completionAt(
  schema: Schema,
  names: Names,
  text: string,
  offset: number,
): Promise<Completion | undefined> {
  const { path, isAtPropertyKey, previousNode } = getLocation(text, offset)
  const word = previousNode && offset <= previousNode.offset + previousNode.length ? previousNode : undefined
  const [from, to] = word ? [word.offset, word.offset + word.length] : [offset, offset]
  const typed = text.slice(from, offset).replace(/^"/, '')
  const options = isAtPropertyKey
    ? fieldsIn(schemaAt(schema, path.slice(0, -1)), text, to)
    : await valuesAt(schema, names, path, typed)
  const fitting = options.filter(({ label }) => label.toLowerCase().includes(typed.toLowerCase()))
  return fitting.length === 0 ? undefined : { from, to, options: fitting }
}

/** Fields of an object. A colon follows unless the text has one. */
function fieldsIn(schema: Schema | undefined, text: string, to: number): Option[] {
  const colon = /^\s*:/.test(text.slice(to)) ? '' : ': '
  return Object.entries(schema?.properties ?? {}).map(([name, { description }]) => ({
    ...{ label: name, insert: `${JSON.stringify(name)}${colon}`, kind: 'field', info: description },
  }))
}

async function valuesAt(schema: Schema, names: Names, path: Path, typed: string): Promise<Option[]> {
  const at = schemaAt(schema, path)
  const choices = choicesOf(at)
  if (choices) return choices.map((value) => optionOf(value, 'value'))
  if (at?.const !== undefined) return [optionOf(String(at.const), 'value')]
  if (at?.type === 'boolean') return ['true', 'false'].map((label) => ({ label, insert: label, kind: 'value' }))
  return (await namesAt(names, path, typed)).map((name) => optionOf(name, 'name'))
}

const optionOf = (label: string, kind: Option['kind']): Option => ({ label, insert: JSON.stringify(label), kind })

/** Names that fit at a path: subjects, destinations, checks and pools. */
export async function namesAt(names: Names, path: Path, typed: string): Promise<readonly string[]> {
  const field = [...path].reverse().find((step) => typeof step === 'string')
  const own = (part: Parameters<Names['own']>[0]) => names.own(part)
  switch (field) {
    case 'user':
    case 'users':
      return names.users(typed)
    case 'group':
    case 'groups':
      return path.length === 1 ? [] : [...new Set([...own('groups'), ...(await names.groups(typed))])]
    case 'tag':
    case 'tags':
      return names.tags(typed)
    case 'device':
    case 'devices':
      return names.devices(typed)
    case 'to':
    case 'allow':
    case 'deny':
      return [...own('resources'), ...own('hosts'), '*']
    case 'posture':
      return own('posture_checks')
    case 'pool':
    case 'via':
      return names.pools(typed)
    default:
      return []
  }
}
