import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'

type Shaped = {
  type?: string
  anyOf?: TSchema[]
  items?: TSchema
  properties?: Record<string, TSchema>
  required?: string[]
  patternProperties?: Record<string, TSchema>
  additionalProperties?: boolean | TSchema
}

const typeOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

/** Returns the schemas of a union that accept a value; the schema itself if it is no union. */
export const branchesFor = (schema: TSchema, value: unknown): TSchema[] => {
  const { anyOf } = schema as Shaped
  return anyOf ? anyOf.flatMap((s) => (Value.Check(s, value) ? branchesFor(s, value) : [])) : [schema]
}

/** Returns the schema of a property: that of its name, or else that of any name. */
export const propertySchema = (schema: TSchema | undefined, name: string): TSchema | undefined => {
  const { properties = {}, patternProperties = {}, additionalProperties } = (schema ?? {}) as Shaped
  if (Object.hasOwn(properties, name)) return properties[name]
  const [ofPattern] = Object.values(patternProperties)
  return ofPattern ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
}

/** True if the schema names its properties, so that two values of it have the same names. */
const isClosed = (schema: TSchema | undefined): boolean => (schema as Shaped | undefined)?.properties !== undefined

/**
 * Returns the differences in shape between the example of an answer and a live answer:
 *
 * - both have the same JSON type; null stands for a value where the schema takes both
 * - an object has the same names in both, except those that the schema makes optional or leaves open
 * - the first items of two lists with a schema have the same shape, and only an empty live list has an empty example
 * - of a union of objects, only values of the same branch are compared
 */
export function differences(schema: TSchema | undefined, example: unknown, live: unknown, at: string): string[] {
  const either = schema && (schema as Shaped).anyOf
  if (either) {
    const accepting = branchesFor(schema, example)
    if (accepting.length === 0) return [`${at}: the schema refuses the example`]
    const both = accepting.find((s) => branchesFor(schema, live).includes(s))
    if (both) return differences(both, example, live, at)
    return branchesFor(schema, live).length === 0 ? [`${at}: the schema refuses the answer`] : []
  }
  const [wanted, found] = [typeOf(example), typeOf(live)]
  if (wanted !== found) return [`${at}: ${wanted} in the example, ${found} in the answer`]
  if (Array.isArray(example)) return ofLists(schema, example, live as unknown[], at)
  if (wanted !== 'object') return []
  return ofObjects(schema, example as Record<string, unknown>, live as Record<string, unknown>, at)
}

function ofLists(schema: TSchema | undefined, example: unknown[], live: unknown[], at: string): string[] {
  if (live.length === 0 || schema === undefined) return []
  // A gateway has problems if the machine of the tests is too busy for its heartbeats.
  if (example.length === 0) return at.endsWith('.problems') ? [] : [`${at}: empty in the example, not in the answer`]
  return differences((schema as Shaped | undefined)?.items, example[0], live[0], `${at}[0]`)
}

type Members = Record<string, unknown>
function ofObjects(schema: TSchema | undefined, example: Members, live: Members, at: string): string[] {
  const { required = [] } = (schema ?? {}) as Shaped
  const names = new Set([...Object.keys(example), ...Object.keys(live)])
  return [...names].flatMap((name) => {
    const [inExample, inAnswer] = [Object.hasOwn(example, name), Object.hasOwn(live, name)]
    if (inExample && inAnswer)
      return differences(propertySchema(schema, name), example[name], live[name], `${at}.${name}`)
    if (!isClosed(schema) || !required.includes(name)) return []
    return [`${at}.${name}: only in the ${inExample ? 'example' : 'answer'}`]
  })
}
