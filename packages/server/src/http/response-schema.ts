import fastJson from 'fast-json-stringify'

type Serializer = (value: unknown) => string
const serializers = new WeakMap<object, Serializer>()

/** Writes what the schema names and drops the rest. Made with the first value that it writes, once in a process. */
export function serializerOf(schema: object): Serializer {
  let own: Serializer | undefined
  return (value) => {
    own ??= serializers.get(schema) ?? make(schema)
    return own(value)
  }
}

function make(schema: object): Serializer {
  const serializer: Serializer = fastJson(serializable(schema) as object)
  serializers.set(schema, serializer)
  return serializer
}

/**
 * A response's schema as the serializer takes it: what may be null says so by `nullable` instead of a union. A union is
 * written by trying its parts on the value one after the other, which costs more than writing it.
 */
export function serializable(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(serializable)
  if (!isObject(schema)) return schema
  const { anyOf, ...rest } = Object.fromEntries(Object.entries(schema).map(([key, part]) => [key, serializable(part)]))
  if (anyOf === undefined) return rest
  const [given, other, ...more] = Array.isArray(anyOf) ? anyOf : []
  const isNullable = more.length === 0 && isObject(given) && 'type' in given && isObject(other) && other.type === 'null'
  return isNullable ? { ...given, ...rest, nullable: true } : { ...rest, anyOf }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
