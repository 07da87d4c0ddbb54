import fastJson from 'fast-json-stringify'

type Serializer = (value: unknown) => string
const serializers = new WeakMap<object, Serializer>()

/**
 * Returns a serializer that writes the fields of the schema and drops others. It is compiled at its first use, once per
 * process.
 */
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
 * Converts a response's schema for the serializer: a union with null becomes `nullable`. The serializer tries the parts
 * of a union one by one, which costs more than writing the value.
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
