import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox'
import { pageItems } from './limits.ts'
import { aOrAn, type ErrorCode, errorStatus, idPrefixes, type Noun } from './vocabulary.ts'

/**
 * A closed object: an undeclared field is rejected in a request and dropped from an answer. An object with a `title`
 * becomes a component of that name in the API description, like any other schema with one.
 */
export const Closed = <const P extends TProperties>(
  properties: P,
  options: { title?: string; description?: string } = {},
) => Type.Object(properties, { additionalProperties: false, ...options })

/** The same object with every field optional; it stays closed. */
export const Partial = <const P extends TProperties>(object: TObject<P>) =>
  Type.Partial(object, { additionalProperties: false })

/**
 * The same fields as read-only ones, which only a GET shows. A PUT may send them back, but with other values it is
 * refused.
 */
export const Shown = <const P extends TProperties>(object: TObject<P>) => {
  const { properties } = Partial(object)
  const marked: TProperties = Object.fromEntries(
    Object.entries<TSchema>(properties).map(([name, schema]) => [name, Type.Optional({ ...schema, readOnly: true })]),
  )
  return marked as typeof properties
}

/** Bytes that are sent unchanged, and never held in memory as a whole. */
export const Octets = Type.Unsafe<AsyncIterable<Uint8Array>>({
  type: 'string',
  format: 'binary',
  description: 'The bytes of the content, unchanged',
})

/** Value of an answer without a body. */
export const Nothing = Type.Null()
export const Nullable = <const S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()])

export const OneOf = <const T extends readonly string[]>(
  values: T,
  options: { title?: string; description?: string; default?: T[number] } = {},
) => Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options })

const pascal = (snake: string) => snake.replaceAll(/(?:^|_)(\w)/g, (_, c: string) => c.toUpperCase())

/** Returns an id in the right form that no object has. */
export const exampleId = (noun: Noun): string => `${idPrefixes[noun]}_01jxz3c9dqf7vr2m8k4s6t0b5w`

const idTitle = (noun: Noun) => `${pascal(noun)}Id`
/**
 * A TypeID. In a path or a body a malformed one gets the same answer as an unknown one, so the schema only bounds it.
 * In a query it is refused: see `nounOfId`.
 */
export const Id = (noun: Noun) =>
  Type.String({
    title: idTitle(noun),
    maxLength: 64,
    description: `TypeID of ${aOrAn(noun)}`,
    examples: [exampleId(noun)],
  })

const nounOfTitle = new Map((Object.keys(idPrefixes) as Noun[]).map((noun) => [idTitle(noun), noun]))
/** Returns the noun of a schema that `Id` made; undefined for any other schema. */
export const nounOfId = ({ title }: { title?: string }): Noun | undefined =>
  title === undefined ? undefined : nounOfTitle.get(title)
/** Returns the pattern of a noun's TypeID, which a query parameter must match. */
export const idPattern = (noun: Noun): string => `^${idPrefixes[noun]}_[0-7][0-9a-hjkmnp-tv-z]{25}$`

/** RFC 3339, UTC, milliseconds. */
export const Time = Type.String({
  title: 'Time',
  format: 'date-time',
  maxLength: 40,
  examples: ['2026-01-31T09:30:00.000Z'],
})
export const Name = Type.String({ minLength: 1, maxLength: 128 })
/** The name of a user or a group. Directories have long ones, so it may be longer than other names. */
export const EntryName = Type.String({ minLength: 1, maxLength: 256 })
/** 32 bytes in canonical base64. The format refuses points of small order and second encodings. */
export const WireguardKey = Type.String({
  format: 'x25519-public-key',
  pattern: '^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$',
  maxLength: 44,
  description: 'Curve25519 public key, base64; used by no other device or gateway of the tenant',
})
/** Schema of a directory's name. */
export const directoryName = { minLength: 1, maxLength: 64, pattern: '^\\S(.*\\S)?$' } as const
export const Text = Type.String({ maxLength: 1024 })
export const Reason = Type.String({
  title: 'Reason',
  minLength: 1,
  maxLength: 512,
  description: 'Reason of the change. The audit event records it',
})
/**
 * Warnings about a change that was made: the tenant has no administrator any more; sign-in by identity providers is
 * enforced and no break-glass user can administer the tenant; API keys of the user stay active; other people set the
 * sign-in of the user.
 */
const warningCodes = [
  'tenant_without_administrator',
  'tenant_without_break_glass_user',
  'api_keys_still_active',
  'sign_in_set_by_others',
] as const
export type WarningCode = (typeof warningCodes)[number]

/** A warning about a change that was made, and how to respond to it. */
const Warning = Closed({ code: OneOf(warningCodes), message: Type.String() }, { title: 'Warning' })
export const Warnings = Type.Array(Warning, { description: 'Warnings about the change; may be empty' })
/**
 * A secret that another party issued and that is used to authenticate to it. Absent keeps the stored one, null removes
 * it.
 */
export const SecretToKeep = (maxLength: number, description: string) =>
  Type.Optional(Nullable(Type.String({ minLength: 1, maxLength, writeOnly: true, description })))
/** A credential. Only the answer that makes it contains it, as `secret`. */
export const Secret = Type.String({ title: 'Secret', description: 'Only this answer contains the secret' })
/** Lifetime of a new object; `unless` describes the default. */
export const expiresInSeconds = (mostDays: number, unless: string) =>
  Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: mostDays * 86_400,
      description: `Lifetime in seconds from now, at most ${mostDays} days. ${unless}`,
    }),
  )
export const Bytes = Type.Integer({ title: 'Bytes', minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
export const Count = Type.Integer({ title: 'Count', minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
/** In the answer to a request that may be repeated: the number of items that were already accepted. */
export const Duplicate = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Number of items that were reported before. They are not counted again',
})
/** In the answer to a write: whether it changed anything. */
export const WasChanged = Type.Boolean({
  description: 'True: the request changed something. False: the object had this state already',
})
/** Items of a list that were not accepted, by index, with the reason. The others were accepted. */
export const Rejected = Type.Array(Closed({ index: Count, error: Type.String({ description: 'One sentence' }) }))
export const Tags = Type.Array(Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-z0-9][a-z0-9._:-]*$' }), {
  maxItems: 64,
  uniqueItems: true,
})
export const Ids = (noun: Noun, maxItems = 200) => Type.Array(Id(noun), { maxItems, uniqueItems: true })

export const List = <const S extends TSchema>(item: S) =>
  Closed(
    {
      items: Type.Array(item),
      next_cursor: Nullable(Type.String({ description: 'Cursor of the next page; null: this page is the last one' })),
    },
    'title' in item ? { title: `${item.title}List` } : {},
  )

/** Number of items that match a filter: counted up to a limit, otherwise estimated. */
export const Total = Closed(
  {
    count: Type.Integer({ minimum: 0 }),
    exact: Type.Boolean({ description: 'False: `count` is an estimate, from a sample or from statistics' }),
  },
  {
    title: 'Total',
    description:
      'Number of matches. It is counted up to 10,000, with facets up to 5,000. Above that it is an estimate, some seconds old',
  },
)
/** A list that also returns the number of matches, if the query asks for it. */
export const CountedList = <const S extends TSchema>(item: S) =>
  Closed(
    { ...List(item).properties, total: Type.Optional(Total) },
    'title' in item ? { title: `${item.title}List` } : {},
  )
/** Query parameters of a `CountedList`. */
export const countQuery = {
  count: Type.Optional(OneOf(['estimate'], { description: '`estimate` adds `total` to the answer' })),
}

/** The name of the object of an id. Null if the object no longer exists, or if there is no id. */
export const NameOf = (thing: string) =>
  Nullable(Type.String({ description: `Current name of the ${thing}; null if it was deleted` }))
export const NamesOf = (things: string) =>
  Type.Array(Nullable(Type.String()), {
    description: `Current names of the ${things}, in the order of the ids; null: deleted`,
  })

export const agoPattern = '^([0-9]{1,9}|[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9:.]{8,18}([Zz]|[+-][0-9]{2}:[0-9]{2}))$'
/** A limit in the past: a number of seconds ago, or a time. */
export const Ago = (description: string) =>
  Type.Optional(
    Type.String({
      maxLength: 40,
      pattern: agoPattern,
      examples: ['86400'],
      description: `${description}: a number of seconds before now, or an RFC 3339 time`,
    }),
  )

/** Parameters of a page of a list. */
export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: pageItems.most,
      description: `Number of items of a page. Default: ${pageItems.usual}`,
    }),
  ),
  cursor: Type.Optional(Type.String({ maxLength: 1024 })),
}
/**
 * The query of a list: page, order and the named filters. `sort` takes one of `sorts`, with a leading `-` for
 * descending; `usual` is the order without it.
 */
export const ListQuery = <const F extends TProperties, const S extends readonly string[]>(
  filters: F,
  sorts: S,
  usual: `${'' | '-'}${S[number]}`,
) =>
  Closed({
    ...pageQuery,
    sort: Type.Optional(
      OneOf(sorts.flatMap((s) => [s, `-${s}`]) as `${'' | '-'}${S[number]}`[], {
        default: usual,
        description: `Order of the items. A leading \`-\` means descending. Default: \`${usual}\``,
      }),
    ),
    ...filters,
  })
export const Prefix = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'Search by the beginning of a name, or of another identifying field',
  }),
)

/** An actor or a target: its type, and its id and its name at that time, if they are known. */
export const Party = Closed(
  { type: Type.String(), id: Nullable(Type.String()), name: Nullable(Type.String()) },
  { title: 'Party' },
)

export const ErrorBody = Closed(
  {
    error: OneOf(Object.keys(errorStatus) as ErrorCode[]),
    detail: Type.String({ description: 'One sentence for a person' }),
    request_id: Type.String({ description: 'Value of `X-Request-Id`. Search the audit log by it' }),
    errors: Type.Optional(
      Type.Array(Closed({ field: Type.String(), message: Type.String() }), {
        description: 'Each field that violates the schema or a rule',
      }),
    ),
  },
  { title: 'Error' },
)
export type ErrorBody = Static<typeof ErrorBody>
