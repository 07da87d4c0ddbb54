import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox'
import { idPrefixes, type Noun } from './vocabulary.ts'

/** A closed object: an undeclared field is refused on the way in and dropped on the way out. */
export const Closed = <const P extends TProperties>(properties: P, options: { description?: string } = {}) =>
  Type.Object(properties, { additionalProperties: false, ...options })

/** The same object with every field optional; it stays closed. */
export const Partial = <const P extends TProperties>(object: TObject<P>) =>
  Type.Partial(object, { additionalProperties: false })

export const Nullable = <const S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()])

export const OneOf = <const T extends readonly string[]>(values: T, options: { description?: string } = {}) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options })

/** A TypeID. Malformed, unknown and of another tenant are the same answer, so the schema only bounds it. */
export const Id = (noun: Noun) =>
  Type.String({
    maxLength: 64,
    description: `TypeID of a ${noun}`,
    examples: [`${idPrefixes[noun]}_01jxz3c9dqf7vr2m8k4s6t0b5w`],
  })

/** RFC 3339, UTC, milliseconds. */
export const Time = Type.String({ format: 'date-time', maxLength: 40 })
export const Name = Type.String({ minLength: 1, maxLength: 128 })
export const Text = Type.String({ maxLength: 1024 })
export const Reason = Type.String({ minLength: 1, maxLength: 512, description: 'Why; goes into the audit event' })
export const Bytes = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
export const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
export const Tags = Type.Array(Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-z0-9][a-z0-9._:-]*$' }), {
  maxItems: 64,
  uniqueItems: true,
})
export const Ids = (noun: Noun, maxItems = 200) => Type.Array(Id(noun), { maxItems, uniqueItems: true })

export const List = <const S extends TSchema>(item: S) =>
  Closed({ items: Type.Array(item), next_cursor: Nullable(Type.String()) })

/** The query of a list: page, order and the named filters. `sort` takes one of `sorts`, `-` in front for descending. */
export const ListQuery = <const F extends TProperties, const S extends readonly string[]>(filters: F, sorts: S) =>
  Closed({
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Items a page; 50 unless said' })),
    cursor: Type.Optional(Type.String({ maxLength: 1024 })),
    sort: Type.Optional(OneOf(sorts.flatMap((s) => [s, `-${s}`]) as `${'' | '-'}${S[number]}`[])),
    ...filters,
  })
export const Prefix = Type.Optional(Type.String({ minLength: 1, maxLength: 128, description: 'Prefix search' }))

export const ErrorBody = Closed({
  error: Type.String(),
  detail: Type.String(),
  request_id: Type.String(),
  errors: Type.Optional(Type.Array(Closed({ field: Type.String(), message: Type.String() }))),
})
export type ErrorBody = Static<typeof ErrorBody>
