import type { Static, TSchema } from 'typebox'
import type { AuditKind, CredentialKind, ErrorCode, Permission, RequiredAction } from './vocabulary.ts'

/**
 * Who may call: nobody checked, or these credential kinds. `permission` binds the kinds that carry a role (session,
 * api_key); `own` says that the credential itself is the right, as for a device that fetches its own bundle, and
 * `by_operation` that `operations` say it: whoever may none of them is refused before the body is read, everyone else
 * after. A session that owes one of the actions `during` may call it all the same.
 */
type Access =
  | { by: 'anyone' }
  | {
      by: readonly [CredentialKind, ...CredentialKind[]]
      permission: Permission | 'own' | 'by_operation'
      during?: readonly RequiredAction[]
    }

/** What one value of `operation` in a body needs, and the status of its success where that is another. */
type OperationRule = { permission: Permission; status?: 201 }

type Common = {
  path: `/${string}`
  summary: string
  /**
   * Spoken in the media type and the errors of SCIM (RFC 7644), under `scimBase`, or with the errors of OAuth (RFC
   * 6749), under `backchannelLogoutBase`; all that stands there does.
   */
  protocol?: 'scim' | 'oauth'
  access: Access
  params?: TSchema
  query?: TSchema
  response: TSchema
  /** The status of success; 200 unless said. 204 has no body. */
  status?: 200 | 201 | 202 | 204
  /** Its answer may be 202: the work that it began goes on. */
  goesOn?: true
  errors?: readonly ErrorCode[]
  /** Request headers that only this endpoint reads. */
  headers?: readonly ('DPoP-New-Key' | 'Last-Event-ID')[]
  /** Its answer may begin, renew or end the session's cookie. */
  setsCookie?: true
  /** It may say 503: not now. */
  unavailable?: true
  /** It may cost more than a look-up: few run at once, and beyond them it is 429. */
  costly?: true
  /** Seconds that its answer may take; 30 unless said. */
  patience?: number
}
/** What only a read can have. */
type Read = {
  /** Its answer bears an ETag, and If-None-Match may be answered with 304. */
  etag?: true
  /** `Prefer: wait=N` holds it until there is something else to say than the client knows. */
  waits?: true
  /** It begins something, as the specification has it: no HEAD, and of a session only from this site. */
  begins?: true
  /** Its path names its content, so whoever has it need not ask again. */
  immutable?: true
  /** Its answer is bytes, sent as they are read, with an ETag; a part of them where `Range` asks for one. */
  download?: true
  /** Its answer is made while it is sent, as long as it gets: of one of these media types, and of what shape. */
  stream?: Readonly<Record<string, TSchema>>
  /** Of a stream of `text/event-stream`: the events by name, and what `data` of each holds. It is open until it ends. */
  events?: Readonly<Record<string, TSchema>>
}
type NoRead = { [K in keyof Read]?: never }

/**
 * A write names its audit event. `records: 'refusals'` marks the high-volume reports of devices and gateways, whose
 * successes are data of their own and would drown the audit trail, and reads that are asked by POST.
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
        /** Bytes; 1 MiB unless said. */
        bodyLimit?: number
        /** Names in all objects of its body together; 2,000 unless said. */
        bodyNames?: number
        /** Its rule says of each text whether it can be stored; elsewhere one that can not refuses the body. */
        judgesTexts?: true
        /** Its lists are kept by somebody else: its rule makes a name one line, or refuses the item, and not the body. */
        foreignTexts?: true
        /** Its body is `application/octet-stream`, handed on as it comes; its rule bounds how much that is. */
        upload?: true
        /** Also takes the fields of its body as an HTML form. */
        form?: true
        /**
         * Where the tenant asks for step-up: a body with these values needs a one-time code not older than 5 minutes.
         * Empty means every body. Binds sessions; an API key has no person who could enter one.
         */
        stepUp?: Readonly<Record<string, string>>
        /** If-Match names the version that is to be changed; one that is stale is 422, judged under the row's lock. */
        ifMatch?: true
        /** For a body whose `operation` decides what it does: a rule for each of its values. */
        operations?: Readonly<Record<string, OperationRule>>
        /**
         * Permissions that a body needs beside that of its operation, by the field that asks for them:
         * `user.group_ids`. An empty list asks for nothing, unless an operation may replace a list that is there.
         */
        fieldPermissions?: Readonly<Record<string, Permission>>
      })

/** The permissions of which a caller needs one to get past the door; undefined where none is asked for. */
export function entryPermissions({ access, operations = {} }: Endpoint): readonly Permission[] | undefined {
  if (access.by === 'anyone' || access.permission === 'own') return undefined
  if (access.permission !== 'by_operation') return [access.permission]
  return [...new Set(Object.values(operations).map((o) => o.permission))]
}

/** The rule for what a body asks for, valid or not. */
export function operationRule({ operations }: Endpoint, body: unknown): OperationRule | undefined {
  if (!operations || typeof body !== 'object' || body === null || !('operation' in body)) return undefined
  const { operation } = body
  return typeof operation === 'string' && Object.hasOwn(operations, operation) ? operations[operation] : undefined
}

/** Whether a repetition of what this endpoint creates finds it there: the answer is then 200, `changed` false. */
export const isRepeatable = ({ status, response }: Endpoint): boolean =>
  status === 201 && Object.hasOwn((response as { properties?: object }).properties ?? {}, 'changed')

type Needed = { field: string; permission: Permission }
/** What the fields of a body need beside its operation, valid or not. */
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

/** The statuses of success. */
export const successStatuses = (e: Endpoint): readonly (200 | 201 | 202 | 204)[] => {
  const { status = 200, operations = {} } = e
  const ofOperations = Object.values(operations).flatMap((o) => o.status ?? [])
  const goesOn = e.goesOn ? ([202] as const) : []
  return [...new Set([status, ...ofOperations, ...(isRepeatable(e) ? ([200] as const) : []), ...goesOn])]
}

/** Parameters that the pipe itself reads: platform roles name a tenant; the deployment-wide secret a gateway too. */
export const scopeParameters = (e: Endpoint): readonly ('tenant_id' | 'gateway_id')[] => {
  const by: readonly CredentialKind[] = e.access.by === 'anyone' ? [] : e.access.by
  if (by.includes('gateway')) return ['tenant_id', 'gateway_id']
  return by.includes('session') || by.includes('api_key') ? ['tenant_id'] : []
}

/** The header of a read (GET or HEAD) by which a client says that no person asked: the request prolongs no session. */
export const backgroundHeader = 'holdfast-background'
/** Whether the header counts: a change is the act of a person, and sessions alone end for inactivity. */
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
/** What a caller of the typed client gives. */
export type Input<E extends Endpoint> = Part<E, 'params'> & QueryPart<E> & BodyPart<E>
/** What a handler is given, after validation. */
export type Given<E extends Endpoint> = Part<E, 'params'> & Part<E, 'query'> & Part<E, 'body'>
export type Output<E extends Endpoint> = Static<E['response']>
