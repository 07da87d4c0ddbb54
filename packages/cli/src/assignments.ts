import { UsageError } from './exit.ts'

/** The part of a JSON schema that defines how a value is written on the command line. */
type Schema = {
  type?: string
  enum?: readonly string[]
  minimum?: number
  maximum?: number
  items?: Schema
  anyOf?: readonly Schema[]
  properties?: Record<string, Schema>
  readOnly?: boolean
}

/** Returns the fields of two levels of objects, as `section.field`, with their accepted values. */
export function describeFields(schema: object): [name: string, takes: string][] {
  const { properties = {} }: Schema = schema
  return Object.entries(properties).flatMap(([section, inner]) =>
    Object.entries(inner.properties ?? {})
      .filter(([, described]) => !inner.readOnly && !described.readOnly)
      .map(([field, described]): [string, string] => [`${section}.${field}`, takenBy(described)]),
  )
}

function takenBy({ type, enum: words, minimum, maximum, items, anyOf }: Schema): string {
  if (anyOf) return `${takenBy(anyOf.find((one) => one.type !== 'null') ?? {})}, or nothing`
  if (words) return words.join(' | ')
  if (type === 'boolean') return 'true | false'
  if (type === 'integer') return `${minimum} to ${maximum}`
  return type === 'array' ? `list of ${takenBy(items ?? {})}` : 'text'
}

/**
 * Parses `section.field=value` texts into an object of the schema with the named fields. A list is comma-separated, and
 * an empty text is an empty list, or null if that is allowed. The server checks ranges.
 */
export function parseAssignments<T extends object>(schema: object, texts: readonly string[]): T {
  const { properties = {} }: Schema = schema
  const values: Record<string, Record<string, unknown>> = {}
  for (const text of texts) {
    const [, section = '', field = '', value = ''] = /^([a-z_]+)\.([a-z_]+)=(.*)$/s.exec(text) ?? []
    if (field === '') throw new UsageError(`${text}: write section.field=value.`)
    const whole = Object.hasOwn(properties, section) ? properties[section] : undefined
    const wanted = whole?.readOnly ? undefined : whole?.properties
    const described = wanted && Object.hasOwn(wanted, field) ? wanted[field] : undefined
    if (!described || described.readOnly) throw new UsageError(`There is no ${section}.${field}; ${thereAre(schema)}`)
    values[section] ??= {}
    const fields = values[section]
    if (Object.hasOwn(fields, field)) throw new UsageError(`${section}.${field} is set twice.`)
    fields[field] = readValue(described, value, `${section}.${field}`)
  }
  return values as T
}

const thereAre = (schema: object): string =>
  `there are: ${describeFields(schema)
    .map(([name]) => name)
    .join(', ')}.`

function readValue(schema: Schema, text: string, name: string): unknown {
  if (schema.anyOf) {
    const isNullable = schema.anyOf.some(({ type }) => type === 'null')
    if (isNullable && (text === '' || text === 'null')) return null
    return readValue(schema.anyOf.find(({ type }) => type !== 'null') ?? {}, text, name)
  }
  switch (schema.type) {
    case 'boolean':
      if (text === 'true' || text === 'false') return text === 'true'
      throw new UsageError(`${name} must be true or false.`)
    case 'integer':
      if (/^-?\d{1,15}$/.test(text)) return Number(text)
      throw new UsageError(`${name} must be a whole number.`)
    case 'array':
      return text === '' ? [] : text.split(',').map((part) => readValue(schema.items ?? {}, part.trim(), name))
    default:
      return text
  }
}
