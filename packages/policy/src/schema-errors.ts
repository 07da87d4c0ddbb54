import { PolicyDocument } from '@holdfast/contract/policy-document'
import { Compile } from 'typebox/compile'
import type { TLocalizedValidationError } from 'typebox/error'
import { Settings } from 'typebox/system'
import { type DocumentError, positionOf, type Step } from './position.ts'

const validator = Compile(PolicyDocument)
const maps: readonly string[] = ['groups', 'hosts', 'resources', 'posture_checks']

/** True if the value has the shape of a policy document. */
export const hasSchema = (value: unknown): value is PolicyDocument => validator.Check(value)

/** Returns the errors of the schema, each at its exact position. */
export function schemaErrors(value: unknown, limit: number): DocumentError[] {
  const { maxErrors } = Settings.Get()
  // An unknown field of a closed object is reported twice, and a choice reports each branch. So more errors are
  // requested than are shown.
  Settings.Set({ maxErrors: limit * 4 })
  try {
    const seen = new Map<string, DocumentError>()
    for (const error of validator.Errors(value)) {
      for (const { field, message } of explain(error, value)) if (!seen.has(field)) seen.set(field, { field, message })
    }
    return [...seen.values()].slice(0, limit)
  } finally {
    Settings.Set({ maxErrors })
  }
}

function explain(error: TLocalizedValidationError, value: unknown): DocumentError[] {
  const steps = stepsOf(error.instancePath, value)
  const here = (message: string): DocumentError[] => [{ field: positionOf(steps), message }]
  const below = (key: string, message: string): DocumentError => ({ field: positionOf([...steps, key]), message })
  switch (error.keyword) {
    case 'boolean':
      return []
    case 'additionalProperties':
      return error.params.additionalProperties.map((key) => below(key, unknownField(key, steps)))
    case 'required':
      return error.params.requiredProperties.map((key) => below(key, `"${key}" is required here`))
    case 'type':
      return error.schemaPath.includes('/anyOf/') ? [] : here(`must be ${named(error.params.type)}`)
    case 'anyOf':
      return here('must be a text, a number, true, false, or a list of these')
    case 'enum':
      return here(`must be one of ${error.params.allowedValues.map((v) => JSON.stringify(v)).join(', ')}`)
    case 'const':
      return here(`must be ${JSON.stringify(error.params.allowedValue)}`)
    case 'format':
      return here('must be an RFC 3339 time such as 2027-01-31T18:00:00Z')
    case 'pattern':
      return here(`does not have the form that is expected here: ${error.params.pattern}`)
    case 'uniqueItems':
      return here('names the same thing twice; remove one of them')
    case 'maxLength':
    case 'minLength':
      return here(
        `must have ${error.keyword === 'maxLength' ? 'at most' : 'at least'} ${error.params.limit} characters`,
      )
    case 'maxItems':
    case 'minItems':
    case 'maxProperties':
      return here(`must have ${error.keyword === 'minItems' ? 'at least' : 'at most'} ${error.params.limit} entries`)
    case 'minimum':
    case 'maximum':
      return here(`must be ${error.keyword === 'maximum' ? 'at most' : 'at least'} ${error.params.limit}`)
    default:
      return here(error.message)
  }
}

const named = (type: string | string[]): string => {
  const name = [type].flat().join(' or ')
  return (
    { string: 'a text', array: 'a list', object: 'an object', integer: 'a whole number', boolean: 'true or false' }[
      name
    ] ?? `a ${name}`
  )
}

function unknownField(key: string, steps: readonly Step[]): string {
  if (steps.length === 1 && maps.includes(String(steps[0]))) {
    return 'is not a name; use up to 64 letters, digits, ".", "_" and "-", starting with a letter or digit'
  }
  if (steps.at(-1) === 'posture') return 'is not the name of a fact; write it like "disk.encrypted"'
  return `unknown field "${key.slice(0, 80)}"; remove it or correct its name`
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
