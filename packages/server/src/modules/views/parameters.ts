import { contract } from '@holdfast/contract'
import { exampleId, nounOfId } from '@holdfast/contract/schema'
import { aOrAn, type ViewList, viewLists } from '@holdfast/contract/vocabulary'
import type { TSchema } from 'typebox'
import { failField } from '../../kernel/app-error.ts'
import { isDateTime } from '../../kernel/date-time.ts'
import { decodeId } from '../../kernel/ids.ts'

type Parameter = TSchema & {
  type?: string
  title?: string
  format?: string
  pattern?: string
  description?: string
  enum?: readonly string[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
}

/** Parameters of paging, which are not part of a view. */
const ofPage = ['cursor', 'limit']
/** A time relative to now, such as -30m, -24h or -7d. */
const relativeTime = /^-[1-9]\d{0,3}[mhd]$/

const parametersOf = (list: ViewList): Record<string, Parameter> => {
  const { properties } = contract[viewLists[list]].query as { properties: Record<string, Parameter> }
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !ofPage.includes(name)))
}

/** Rejects the same parameters as the list does: an unknown name, or an invalid value. */
export function requireParameters(list: ViewList, query: Readonly<Record<string, string>>): void {
  const known = parametersOf(list)
  for (const [name, value] of Object.entries(query)) {
    const parameter = Object.hasOwn(known, name) ? known[name] : undefined
    if (!parameter)
      failField(
        `query.${name}`,
        `is not a parameter of the list ${list}: must be one of ${Object.keys(known).join(', ')}`,
      )
    const problem = problemOf(parameter, value)
    if (problem !== undefined) failField(`query.${name}`, problem)
  }
}

function problemOf(parameter: Parameter, value: string): string | undefined {
  const { type, format, enum: values, minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = parameter
  const { minLength = 0, maxLength = 512, pattern, description } = parameter
  if (values) return values.includes(value) ? undefined : `must be one of ${values.join(', ')}`
  if (type === 'boolean') return value === 'true' || value === 'false' ? undefined : 'must be true or false'
  if (type === 'integer') {
    const isWithin = /^\d{1,16}$/.test(value) && Number(value) >= minimum && Number(value) <= maximum
    return isWithin ? undefined : `must be a whole number from ${minimum} to ${maximum}`
  }
  if (format === 'date-time')
    return isDateTime(value) || relativeTime.test(value)
      ? undefined
      : 'must be a time such as 2026-01-31T09:30:00Z, or a time relative to now such as -30m, -24h or -7d'
  const noun = nounOfId(parameter)
  if (noun !== undefined && decodeId(noun, value) === undefined)
    return `is not the id of ${aOrAn(noun)}, such as ${exampleId(noun)}`
  if (value.length < minLength || value.length > maxLength) return `must have ${minLength} to ${maxLength} characters`
  if (pattern !== undefined && !new RegExp(pattern).test(value))
    return `is not a valid value of this parameter${description ? ` (${description})` : ''}`
  return undefined
}
