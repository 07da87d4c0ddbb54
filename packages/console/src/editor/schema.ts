/** JSON Schema of a part of a policy document: only the keywords that the editor reads. */
export type Schema = {
  type?: string
  description?: string
  const?: unknown
  enum?: readonly string[]
  anyOf?: readonly Schema[]
  properties?: Readonly<Record<string, Schema>>
  patternProperties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  items?: Schema
  pattern?: string
  minimum?: number
  maximum?: number
  maxItems?: number
  maxLength?: number
}

export type Path = readonly (string | number)[]

/** Returns the schema at a path below a schema; undefined for an unknown field. */
export function schemaAt(schema: Schema, path: Path): Schema | undefined {
  let at: Schema | undefined = schema
  for (const step of path) {
    if (at === undefined) return undefined
    at = typeof step === 'number' ? at.items : (at.properties?.[step] ?? Object.values(at.patternProperties ?? {})[0])
  }
  return at
}

/** Returns the texts that a value may have, if its schema lists them. */
export function choicesOf(schema: Schema | undefined): readonly string[] | undefined {
  if (!schema) return undefined
  if (schema.enum) return schema.enum
  const consts = schema.anyOf?.map((one) => one.const)
  return consts?.every((one) => typeof one === 'string') ? (consts as string[]) : undefined
}
