import { type Endpoint, entryPermissions } from '@holdfast/contract/endpoint'
import { aOrAn, type RequiredAction } from '@holdfast/contract/vocabulary'
import type { FastifyRequest } from 'fastify'
import type { Actor, Caller, Principal, TenantId } from '../../kernel/actor.ts'
import { AppError } from '../../kernel/app-error.ts'
import { decodeId, encodeId } from '../../kernel/ids.ts'
import type { Log } from '../../kernel/log.ts'
import { mapMaybePromise } from '../../kernel/maybe-promise.ts'
import { type Origins, useInstead } from '../../kernel/origins.ts'
import type { RateLimit } from '../../kernel/rate-limit.ts'
import type { Stands } from '../../kernel/results.ts'
import type { SourceOf } from '../connection/source-ip.ts'
import type { AuditPort, RatesPort } from '../ports.ts'
import type { ActiveTenantVerifiers } from './active-tenants-only.ts'
import {
  authenticate,
  type CredentialVerdict,
  type IncomingRequest,
  judgedSafely,
  verifyToken,
} from './authenticate.ts'
import { callerOf, isOfOtherPage, isSameOrigin } from './caller.ts'
import { incomingOf } from './incoming.ts'
import type { Refuse } from './refuse.ts'

/** Result of the checks of a request before its body is read. */
export type Admission = {
  actor: Actor | null
  caller: Caller
  isSameOrigin: boolean | undefined
  /** Value of the Origin header. */
  usedOrigin: string | undefined
  /** The query string without the parameters that the pipeline itself reads. */
  search: string
  /** Rate limit of the caller, if it has one. */
  rateLimit: RateLimit | undefined
  /** Refusal of a known caller. The pipeline records it and throws it. */
  refusal: AppError | undefined
  /** The durable record of an API key's use. The response waits for it. */
  recorded: Promise<void> | undefined
  /** For long responses: checks the credential again, which is no activity of a session. */
  stands: Stands | undefined
  /** Authenticates after the body is read, if the credential may be in the body (enrollment). */
  authenticateBody: ((request: FastifyRequest) => Promise<void>) | undefined
}
/** Throws 401, synchronously or as a rejection. */
export type Admit = (endpoint: Endpoint | undefined, request: FastifyRequest) => Admission | Promise<Admission>

type AdmitDeps = {
  verifiers: ActiveTenantVerifiers
  audit: AuditPort
  origins: Origins
  sourceOf: SourceOf
  refuse: Refuse
  rates: RatesPort
  log: Pick<Log, 'error'>
  tenantExists: (tenant: TenantId) => Promise<boolean>
}

const idNoun = {
  session: 'user',
  api_key: 'api_key',
  device: 'device',
  gateway: 'gateway',
  enrollment_token: 'enrollment_token',
  enrollment_challenge: 'enrollment_challenge',
} as const

/** Checks authentication, rate limit and permission, in this order, before the body is read. */
export function createAdmit(deps: AdmitDeps): Admit {
  return (endpoint, request) => {
    const incoming = incomingOf(endpoint, request, deps.sourceOf)
    const admission: Admission = {
      actor: null,
      caller: callerOf(request.headers, incoming.sourceIp, request.id),
      isSameOrigin: isSameOrigin(request.headers, deps.origins),
      usedOrigin: request.headers.origin,
      search: incoming.search,
      rateLimit: undefined,
      refusal: undefined,
      recorded: undefined,
      stands: undefined,
      authenticateBody: undefined,
    }
    if (endpoint?.access.by === 'anyone') return admission
    const judge = () => authenticate(deps.verifiers, request, incoming)
    if (endpoint?.stream) {
      const again = () => authenticate(deps.verifiers, request, { ...incoming, background: true, isAgain: true })
      admission.stands = async () => stillStands(deps, admission, endpoint, request, await again())
    }
    return mapMaybePromise(
      judgedSafely(deps, judge, () => admission.caller),
      (verdict) => finishAdmission(deps, admission, endpoint, request, incoming, verdict),
    )
  }
}

function finishAdmission(
  deps: AdmitDeps,
  admission: Admission,
  endpoint: Endpoint | undefined,
  request: FastifyRequest,
  incoming: IncomingRequest,
  verdict: CredentialVerdict,
): Admission | Promise<Admission> {
  if (!verdict || verdict.kind === 'refused') {
    if (verdict) throw deps.refuse.credential(verdict, admission.caller)
    admission.authenticateBody = tokenInBody(deps, admission, endpoint, request, incoming)
    return admission
  }
  const principal = verdict
  const actor = actorOf(principal, admission.caller)
  admission.actor = actor
  if (principal.kind === 'api_key' || principal.kind === 'session')
    return settlePerson(deps, admission, endpoint, request, actor)
  if (principal.kind === 'gateway')
    return mapMaybePromise(deps.rates.take(principal), (wait) => {
      admission.rateLimit = deps.rates.limitOf(principal)
      if (wait > 0) return deps.refuse.rate(actor, wait, admission.rateLimit)
      if (endpoint) admission.refusal = refusalOf(deps, endpoint, admission, principal)
      return admission
    })
  if (principal.kind === 'device') admission.rateLimit = principal.rateLimit
  if (endpoint) admission.refusal = refusalOf(deps, endpoint, admission, principal) ?? foreignTenant(request, actor)
  return admission
}

const enrolling = [
  { kind: 'enrollment_token', field: 'enrollment_token' },
  { kind: 'enrollment_challenge', field: 'challenge' },
] as const

/** For a credential in the body (enrollment), if there is no other one. Throws 401 without any. */
function tokenInBody(
  deps: AdmitDeps,
  admission: Admission,
  endpoint: Endpoint | undefined,
  request: FastifyRequest,
  incoming: IncomingRequest,
): (request: FastifyRequest) => Promise<void> {
  const { by } = endpoint?.access ?? { by: 'anyone' }
  const enrollmentCredential = by === 'anyone' ? undefined : enrolling.find(({ kind }) => by.includes(kind))
  const { authorization, cookie } = request.headers
  const hasOther = authorization !== undefined || cookie?.includes('holdfast_session')
  if (!enrollmentCredential || !endpoint?.body || hasOther) throw deps.refuse.credential(undefined, admission.caller)
  return () => authenticateFromBody(deps, admission, incoming, request, enrollmentCredential)
}

async function settlePerson(
  deps: AdmitDeps,
  admission: Admission,
  endpoint: Endpoint | undefined,
  request: FastifyRequest,
  actor: Actor,
): Promise<Admission> {
  const { principal } = actor
  if (principal.kind !== 'session' && principal.kind !== 'api_key') return admission
  const wait = await deps.rates.take(principal)
  admission.rateLimit = deps.rates.limitOf(principal)
  if (wait > 0) return deps.refuse.rate(actor, wait, admission.rateLimit)
  if (principal.kind === 'api_key') {
    const route = endpoint ? `${endpoint.method} ${endpoint.path}` : `${request.method} (unknown route)`
    admission.recorded = deps.audit.note(actor, 'api_key.used', { key_id: actor.id ?? '', endpoint: route })
    // It is awaited before the response. A failure before that must not end the process.
    admission.recorded.catch(() => {})
  }
  if (endpoint) admission.refusal = await refusalOfPerson(deps, endpoint, admission, request, actor)
  return admission
}

/** Checks the permission of a caller, and moves the actor into the requested tenant if allowed. */
const refusalOfPerson = async (
  deps: AdmitDeps,
  endpoint: Endpoint,
  admission: Admission,
  request: FastifyRequest,
  actor: Actor,
): Promise<AppError | undefined> =>
  refusalOf(deps, endpoint, admission, actor.principal) ??
  ofOtherPage(deps, endpoint, actor.principal, request) ??
  (await scopeTenant(deps, request, actor)) ??
  offDirectory(endpoint, actor.principal)

async function stillStands(
  deps: AdmitDeps,
  admission: Admission,
  endpoint: Endpoint,
  request: FastifyRequest,
  verdict: CredentialVerdict,
): Promise<Actor | undefined> {
  if (!verdict || verdict.kind === 'refused') return undefined
  const actor = actorOf(verdict, admission.caller)
  return (await refusalOfPerson(deps, endpoint, admission, request, actor)) ? undefined : actor
}

const actionHelp: Record<RequiredAction, string> = {
  change_password:
    'your password is temporary: set your own password with POST /v1/admin/users/password before any other request',
  enroll_mfa:
    'your role requires a second factor: enroll an authenticator app with POST /v1/admin/users/totp/enroll and /verify before any other request',
}

/** Returns a refusal: wrong kind of credential, missing permission, or a cookie sent by a page of another site. */
function refusalOf(
  deps: AdmitDeps,
  endpoint: Endpoint,
  { isSameOrigin: sameOrigin, usedOrigin }: Admission,
  principal: Principal,
): AppError | undefined {
  if (endpoint.access.by === 'anyone') return undefined
  if (!endpoint.access.by.includes(principal.kind))
    return new AppError('forbidden', `this route is not for ${aOrAn(principal.kind)}`)
  const { during = [] } = endpoint.access
  if (principal.kind === 'session' && principal.requiredAction && !during.includes(principal.requiredAction))
    return new AppError('forbidden', actionHelp[principal.requiredAction])
  const needed = entryPermissions(endpoint)
  if ('permissions' in principal && needed && !needed.some((p) => principal.permissions.has(p)))
    return new AppError('forbidden', `this needs the permission ${needed.join(' or ')}`)
  if (principal.kind === 'session' && (endpoint.method !== 'GET' || endpoint.begins) && sameOrigin !== true)
    return new AppError(
      'forbidden',
      useInstead('Use', usedOrigin, deps.origins) ??
        `a change with a session cookie must come from this site: send Origin: ${deps.origins.publicUrl} or Sec-Fetch-Site: same-origin`,
    )
  return undefined
}

/** Refuses a stream for a page of another site, including sites whose requests carry the cookie. */
function ofOtherPage(
  { origins }: AdmitDeps,
  { stream }: Endpoint,
  { kind }: Principal,
  { headers }: FastifyRequest,
): AppError | undefined {
  if (!stream || kind !== 'session' || !isOfOtherPage(headers, origins)) return undefined
  return new AppError('forbidden', 'a page of another site must not send this request with a session cookie')
}

const namedTenant = ({ url }: FastifyRequest) => new URLSearchParams(url.split('?')[1] ?? '').get('tenant_id')

/** A credential of one tenant may name only that tenant. */
function foreignTenant(request: FastifyRequest, { tenantId }: Actor): AppError | undefined {
  const named = namedTenant(request)
  if (named === null || named === encodeId('tenant', tenantId)) return undefined
  return new AppError('forbidden', 'tenant_id: is not the tenant of your credential')
}

/** `?tenant_id=` moves a platform role into that tenant. For anyone else only the own tenant is allowed. */
async function scopeTenant(deps: AdmitDeps, request: FastifyRequest, actor: Actor): Promise<AppError | undefined> {
  if (!('roles' in actor.principal)) return undefined
  const foreign = foreignTenant(request, actor)
  const named = namedTenant(request)
  if (!foreign || named === null) return undefined
  const isOfDirectory = actor.principal.kind === 'api_key' && actor.principal.directory !== null
  if (isOfDirectory || !actor.principal.roles.includes('platform_admin')) return foreign
  const tenant = decodeId('tenant', named) as TenantId | undefined
  if (!tenant) return new AppError('bad_request', 'tenant_id: is not the id of a tenant')
  if (!(await deps.tenantExists(tenant))) return new AppError('not_found', 'no such tenant')
  actor.tenantId = tenant
  return undefined
}

/** An API key for a directory may do nothing else, and no other credential may use SCIM. */
function offDirectory(endpoint: Endpoint, principal: Principal): AppError | undefined {
  const directory = principal.kind === 'api_key' ? principal.directory : null
  if (endpoint.protocol === 'scim' && directory === null)
    return new AppError('forbidden', 'this API key is not for SCIM: create one with the field `directory`')
  if (endpoint.protocol !== 'scim' && directory !== null)
    return new AppError('forbidden', 'this API key is only for SCIM: use another key')
  return undefined
}

async function authenticateFromBody(
  deps: AdmitDeps,
  admission: Admission,
  incoming: IncomingRequest,
  request: FastifyRequest,
  { kind, field }: (typeof enrolling)[number],
) {
  const token = (request.body as Record<string, unknown> | undefined)?.[field]
  const judge = () => (typeof token === 'string' ? verifyToken(deps.verifiers, token, incoming) : undefined)
  const verdict = await judgedSafely(deps, judge, () => admission.caller)
  if (verdict?.kind !== kind)
    throw deps.refuse.credential(verdict?.kind === 'refused' ? verdict : undefined, admission.caller)
  admission.actor = actorOf(verdict, admission.caller)
}

const actorOf = (principal: Principal, caller: Caller): Actor => ({
  ...caller,
  principal,
  tenantId: principal.tenantId,
  type: principal.kind,
  id: encodeId(idNoun[principal.kind], principal.kind === 'session' ? principal.userId : principal.id),
  name: principal.name,
  origin: originOf(principal, caller),
  claim: null,
})

const originOf = ({ kind }: Principal, { origin }: Caller) => {
  if (kind === 'device' || kind === 'enrollment_token' || kind === 'enrollment_challenge') return 'device'
  if (kind === 'gateway') return 'gateway'
  return kind === 'session' ? origin : 'api'
}
