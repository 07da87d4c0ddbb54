import type { Static, TSchema } from 'typebox'
import type { AuditKind, CredentialKind, ErrorCode, Permission, RequiredAction } from './vocabulary.ts'

/**
 * Callers: anyone without a check, or these kinds of credentials. `permission` applies to the kinds with a role
 * (session, api_key). `own` means that the credential itself is the permission, as for a device that fetches its own
 * bundle. `by_operation` means that `operations` decides: a caller with none of their permissions is refused before the
 * body is read, others after it. A session with one of the required actions `during` may still call it.
 */
type Access =
  | { by: 'anyone' }
  | {
      by: readonly [CredentialKind, ...CredentialKind[]]
      permission: Permission | 'own' | 'by_operation'
      during?: readonly RequiredAction[]
    }

/** Permission for one value of `operation` in a body, and its success status if that differs. */
type OperationRule = { permission: Permission; status?: 201 }

type Common = {
  path: `/${string}`
  /** Imperative, 60 characters at most, with the object: `List devices`. */
  summary: string
  /** Effects, limits and conditions that the summary leaves out, in sentences. */
  description?: string
  /**
   * Uses the media type and errors of SCIM (RFC 7644), under `scimBase`, or the errors of OAuth (RFC 6749), under
   * `backchannelLogoutBase`. Everything under these paths does.
   */
  protocol?: 'scim' | 'oauth'
  access: Access
  params?: TSchema
  query?: TSchema
  response: TSchema
  /** Success status; default 200. 204 has no body. */
  status?: 200 | 201 | 202 | 204
  /** The answer may be 202: the work continues in the background. */
  goesOn?: true
  errors?: readonly ErrorCode[]
  /** Request headers that only this endpoint reads. */
  headers?: readonly ('DPoP-New-Key' | 'Last-Event-ID')[]
  /** The answer may begin, renew or end the session's cookie. */
  setsCookie?: true
  /** The answer may be 503: temporarily unavailable. */
  unavailable?: true
  /** It may cost more than a look-up. Few run at once; further requests get 429. */
  costly?: true
  /** Time limit of the answer in seconds; default 30. */
  patience?: number
}
/** Properties that only a read can have. */
type Read = {
  /** The answer has an ETag, and If-None-Match may be answered with 304. */
  etag?: true
  /** `Prefer: wait=N` holds the request until the answer differs from the copy of the client. */
  waits?: true
  /** It begins something, as the specification requires: no HEAD, and for a session only from this site. */
  begins?: true
  /** The path identifies the content, so a client never needs to request it again. */
  immutable?: true
  /** The answer is bytes, sent while they are read, with an ETag; with `Range` a part of them. */
  download?: true
  /** The answer is streamed while it is made, with any length: the media types, each with the schema of its content. */
  stream?: Readonly<Record<string, TSchema>>
  /**
   * For a stream of `text/event-stream`: the events by name, with the schema of `data`. It stays open until it ends.
   */
  events?: Readonly<Record<string, TSchema>>
}
type NoRead = { [K in keyof Read]?: never }

/**
 * A write names its audit event. `records: 'refusals'` marks high-volume reports of devices and gateways, and reads by
 * POST. Successful reports are stored as data of their own and would flood the audit log.
 */
export type Endpoint =
  | (Common &
      Read & {
        method: 'GET'
        audit?: never
        body?: never
        records?: never
        bodyLimit?: never
        bodyNames?: never
        textLimit?: never
        judgesTexts?: never
        foreignTexts?: never
        upload?: never
        form?: never
        stepUp?: never
        operations?: never
        fieldPermissions?: never
        ifMatch?: never
      })
  | (Common &
      NoRead & {
        method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
        audit: AuditKind
        records?: 'refusals'
        body?: TSchema
        /** In bytes; default 1 MiB. */
        bodyLimit?: number
        /** Most names in all objects of the body together; default 2,000. */
        bodyNames?: number
        /** Longest text of the body as written, in characters; default 32,768. */
        textLimit?: number
        /**
         * Its handler decides for each text if it can be stored. Elsewhere a text that cannot be stored rejects the
         * body.
         */
        judgesTexts?: true
        /**
         * Another system maintains its lists. Its handler reduces a name to one line, or rejects the item instead of
         * the body.
         */
        foreignTexts?: true
        /** The body is `application/octet-stream`, passed on as it arrives. The handler limits its size. */
        upload?: true
        /** Also accepts the fields of its body as an HTML form. */
        form?: true
        /**
         * If the tenant requires step-up: a body with these values needs a one-time code not older than 5 minutes.
         * Empty means every body. Applies to sessions; an API key has no person who could enter one.
         */
        stepUp?: Readonly<Record<string, string>>
        /**
         * If-Match names the version to change. A stale one is 422, checked under the row's lock. `required`: so is an
         * absent one.
         */
        ifMatch?: true | 'required'
        /** For a body whose `operation` selects the action: a rule for each of its values. */
        operations?: Readonly<Record<string, OperationRule>>
        /**
         * Further permissions by the field that requires them, such as `user.group_ids`. An empty list requires none,
         * unless an operation may replace an existing list.
         */
        fieldPermissions?: Readonly<Record<string, Permission>>
      })

/** Returns the permissions of which a caller needs one at the entry; undefined if none is needed. */
export function entryPermissions({ access, operations = {} }: Endpoint): readonly Permission[] | undefined {
  if (access.by === 'anyone' || access.permission === 'own') return undefined
  if (access.permission !== 'by_operation') return [access.permission]
  return [...new Set(Object.values(operations).map((o) => o.permission))]
}

/** Returns the rule for the operation of a body, which may be invalid. */
export function operationRule({ operations }: Endpoint, body: unknown): OperationRule | undefined {
  if (!operations || typeof body !== 'object' || body === null || !('operation' in body)) return undefined
  const { operation } = body
  return typeof operation === 'string' && Object.hasOwn(operations, operation) ? operations[operation] : undefined
}

/** True if a repeated request finds the object already made. The answer is then 200 with `changed` false. */
export const isRepeatable = ({ status, response }: Endpoint): boolean =>
  status === 201 && Object.hasOwn((response as { properties?: object }).properties ?? {}, 'changed')

type Needed = { field: string; permission: Permission }
/** Returns the permissions that the fields of a body need besides its operation. The body may be invalid. */
export function neededByFields({ fieldPermissions = {}, operations }: Endpoint, body: unknown): Needed[] {
  const isGiven = (field: string): boolean => {
    const value = field
      .split('.')
      .reduce<unknown>((at, name) => (typeof at === 'object' && at !== null ? Reflect.get(at, name) : undefined), body)
    return value !== undefined && (operations !== undefined || !Array.isArray(value) || value.length > 0)
  }
  return Object.entries(fieldPermissions).flatMap(([field, permission]) =>
    isGiven(field) ? [{ field, permission }] : [],
  )
}

/** Returns the success statuses. */
export const successStatuses = (e: Endpoint): readonly (200 | 201 | 202 | 204)[] => {
  const { status = 200, operations = {} } = e
  const ofOperations = Object.values(operations).flatMap((o) => o.status ?? [])
  const goesOn = e.goesOn ? ([202] as const) : []
  return [...new Set([status, ...ofOperations, ...(isRepeatable(e) ? ([200] as const) : []), ...goesOn])]
}

/**
 * Returns the parameters that the request pipeline reads: a platform role names a tenant; the deployment-wide gateway
 * secret also names a gateway.
 */
export const scopeParameters = (e: Endpoint): readonly ('tenant_id' | 'gateway_id')[] => {
  const by: readonly CredentialKind[] = e.access.by === 'anyone' ? [] : e.access.by
  if (by.includes('gateway')) return ['tenant_id', 'gateway_id']
  return by.includes('session') || by.includes('api_key') ? ['tenant_id'] : []
}

/** Header of a read (GET or HEAD) that no person requested. The request does not prolong the session. */
export const backgroundHeader = 'holdfast-background'
/** True if the header applies. A change is always the act of a person, and only sessions end for inactivity. */
export const takesBackground = ({ access, method }: Endpoint): boolean =>
  method === 'GET' && access.by !== 'anyone' && access.by.includes('session')

export const endpoint = <const E extends Endpoint>(e: E): E => e

type Part<E, K extends string> = E extends { [P in K]: infer S extends TSchema } ? { [P in K]: Static<S> } : unknown
type QueryPart<E> = E extends { query: infer S extends TSchema }
  ? object extends Static<S>
    ? { query?: Static<S> }
    : { query: Static<S> }
  : unknown
type BodyPart<E> = E extends { body: infer S extends TSchema }
  ? object extends Static<S>
    ? { body?: Static<S> }
    : { body: Static<S> }
  : unknown
/** Input of the typed client. */
export type Input<E extends Endpoint> = Part<E, 'params'> & QueryPart<E> & BodyPart<E>
/** Input of a handler, after validation. */
export type Given<E extends Endpoint> = Part<E, 'params'> & Part<E, 'query'> & Part<E, 'body'>
export type Output<E extends Endpoint> = Static<E['response']>
