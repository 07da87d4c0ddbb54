import { PolicyDocument } from '@holdfast/contract/policy-document'
import { Compile } from 'typebox/compile'
import type { TLocalizedValidationError } from 'typebox/error'
import { Settings } from 'typebox/system'
import { type DocumentError, positionOf, type Step } from './position.ts'
import { fieldsThatFit } from './suggest.ts'

const validator = Compile(PolicyDocument)
const maps: readonly string[] = ['groups', 'hosts', 'resources', 'posture_checks']

/** True if the value has the shape of a policy document, in any form. */
export const hasSchema = (value: unknown): boolean => validator.Check(value)

/** Returns the errors of the schema, each at its exact position. */
export function schemaErrors(value: unknown, limit: number): DocumentError[] {
  const { maxErrors } = Settings.Get()
  // An unknown field of a closed object is reported twice, and a choice reports each branch. So more errors are
  // requested than are shown.
  Settings.Set({ maxErrors: limit * 4 })
  try {
    const seen = new Map<string, DocumentError>()
    // An object with hundreds of unknown fields reports each of them first, so that no other error is left.
    const refused: string[] = []
    for (const error of validator.Errors(value)) {
      if (error.keyword === 'boolean') refused.push(error.instancePath)
      for (const { steps, messageOf } of explain(error, value)) {
        const field = positionOf(steps)
        // A message is made only for an error that is shown, because it may search for similar names.
        if (!seen.has(field)) seen.set(field, { field, message: messageOf() })
        if (seen.size >= limit) return [...seen.values()]
      }
    }
    return seen.size > 0 ? [...seen.values()] : refused.slice(0, limit).map((pointer) => unknownAt(pointer, value))
  } finally {
    Settings.Set({ maxErrors })
  }
}

/** Explains a field that the schema refuses with any value. */
function unknownAt(pointer: string, value: unknown): DocumentError {
  const steps = stepsOf(pointer, value)
  return { field: positionOf(steps), message: unknownField(String(steps.at(-1)), steps.slice(0, -1)) }
}

type Explained = { readonly steps: readonly Step[]; readonly messageOf: () => string }

function explain(error: TLocalizedValidationError, value: unknown): Explained[] {
  const steps = stepsOf(error.instancePath, value)
  const here = (message: string): Explained[] => [{ steps, messageOf: () => message }]
  switch (error.keyword) {
    case 'boolean':
      return []
    case 'additionalProperties':
      return error.params.additionalProperties.map((key) => ({
        steps: [...steps, key],
        messageOf: () => unknownField(key, steps),
      }))
    case 'required':
      return error.params.requiredProperties.map((key) => ({
        steps: [...steps, key],
        messageOf: () => `the field "${key}" is missing; add it`,
      }))
    case 'type':
      return error.schemaPath.includes('/anyOf/') ? [] : here(wrongType(error.params.type, steps))
    case 'anyOf':
      return here('must be a text, a number, true, false, or a list of these')
    case 'enum':
      return here(`must be one of ${error.params.allowedValues.map((v) => JSON.stringify(v)).join(', ')}`)
    case 'const':
      return here(`must be ${JSON.stringify(error.params.allowedValue)}`)
    case 'format':
      return here('must be an RFC 3339 time such as 2027-01-31T18:00:00Z')
    case 'pattern':
      return here(wrongForm(error.params.pattern, steps))
    case 'uniqueItems':
      return here('the list has the same entry twice; remove one of them')
    case 'maxLength':
    case 'minLength':
      return here(
        `must have ${error.keyword === 'maxLength' ? 'at most' : 'at least'} ${counted(error.params.limit, 'character')}`,
      )
    case 'maxItems':
    case 'minItems':
    case 'maxProperties':
      return here(wrongCount(error.keyword, error.params.limit, steps))
    case 'minimum':
    case 'maximum':
      return here(`must be at ${error.keyword === 'maximum' ? 'most' : 'least'} ${error.params.limit}`)
    default:
      return here(error.message)
  }
}

const types: Readonly<Record<string, string>> = {
  string: 'a text in double quotes',
  array: 'a list in [ ]',
  object: 'an object in { }',
  integer: 'a whole number',
  boolean: 'true or false',
}
const counted = (n: number, noun: string): string => `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`

function wrongType(type: string | string[], steps: readonly Step[]): string {
  const name = [type].flat().join(' or ')
  return `must be ${types[name] ?? `a ${name}`}${otherForm(steps)}`
}

/** The other form of a subject: the author gave `user` a list, or `users` a text. */
function otherForm(steps: readonly Step[]): string {
  const word = String(steps.at(-1))
  if (['user', 'group', 'tag', 'device'].includes(word)) return `; for a list write "${word}s"`
  return subjectLists.includes(word) && steps.length > 1 ? `; for one name write "${word.slice(0, -1)}"` : ''
}

const subjectLists: readonly string[] = ['users', 'groups', 'tags', 'devices']

function wrongCount(keyword: 'maxItems' | 'minItems' | 'maxProperties', limit: number, steps: readonly Step[]): string {
  const field = String(steps.at(-1))
  if (keyword === 'maxItems' && limit === 1)
    return `a test has one ${field.slice(0, -1)}; keep one entry, and write another test for each other entry`
  return `must have at ${keyword === 'minItems' ? 'least' : 'most'} ${limit.toLocaleString('en')} ${limit === 1 ? 'entry' : 'entries'}`
}

/** The patterns of the schema in words. */
const forms: readonly (readonly [field: RegExp, form: string])[] = [
  [/\.(from|to)$/, 'a time of day such as 08:30, from 00:00 to 24:00'],
  [/countr/, 'a country code of two capital letters, such as DE'],
  [/\.posture\[/, 'the name of a posture check'],
  [/cidrs\[|^hosts/, 'an address or a network, such as 10.1.2.3, 10.1.0.0/16 or fd00:1::/64'],
  [/(source_ip|servers\[\d+\])$/, 'an IP address, such as 10.1.2.3 or fd00::1'],
  [/ports\[/, 'a port: tcp/443, udp/1000-2000, tcp/* or icmp'],
  [/tags?(\[\d+\])?$/, 'a tag: lower-case letters, digits, ".", "_", ":" and "-", the first a letter or a digit'],
  [/dns\[|domains\[/, 'a DNS name, such as git.example.com'],
  [/services\[/, 'the name of a service: letters, digits, ".", "_", ":" and "-"'],
  [/\.zone$/, 'an IANA time zone, such as Europe/Berlin'],
  [/\.id$/, 'an id: up to 64 letters, digits, ".", "_" and "-", the first a letter or a digit'],
]
function wrongForm(pattern: string | RegExp, steps: readonly Step[]): string {
  if (pattern.toString().includes('u001f')) return 'must not contain control characters, such as a line break'
  const position = positionOf(steps)
  const form = forms.find(([field]) => field.test(position))?.[1]
  return form ? `must be ${form}` : `must match the pattern ${pattern}`
}

function unknownField(key: string, steps: readonly Step[]): string {
  if (steps.length === 1 && maps.includes(String(steps[0]))) {
    return 'is not a valid name; use up to 64 letters, digits, ".", "_" and "-", the first a letter or a digit'
  }
  if (steps.at(-1) === 'posture') return 'is not the name of a fact; write it like "disk.encrypted"'
  return `unknown field "${key.slice(0, 80)}".${fieldsThatFit(key, fieldsAt(steps))}`
}

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
}

/** Returns the fields of the closed object at a position. */
function fieldsAt(steps: readonly Step[]): string[] {
  let schema = PolicyDocument as Schema | undefined
  for (const step of steps) {
    schema =
      typeof step === 'number'
        ? schema?.items
        : (schema?.properties?.[step] ?? Object.values(schema?.patternProperties ?? {})[0])
  }
  return Object.keys(schema?.properties ?? {})
}

/** Splits a JSON pointer (RFC 6901) into steps. A step is a number only inside a list. */
function stepsOf(pointer: string, value: unknown): Step[] {
  let at: unknown = value
  return pointer
    .split('/')
    .slice(1)
    .map((part) => {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
      const step = Array.isArray(at) ? Number(key) : key
      at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[key] : undefined
      return step
    })
}
