import {
  type CertId,
  CryptoError,
  type OcspRequest,
  type OcspResponder,
  type OcspStatus,
  ocspErrorResponse,
  ocspResponder,
  readOcspRequest,
} from '@holdfast/crypto'
import type { TenantId } from '../../../kernel/actor.ts'
import { tooMany } from '../../../kernel/app-error.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { createRateLimiter } from '../../../kernel/rate-limit.ts'
import { minute, second } from '../../../kernel/time.ts'
import type { Authority } from '../../trust/index.ts'
import type { CertificatesDeps } from '../deps.ts'
import type { StatusesOf } from './statuses.ts'

/** DER response. `kept`: validity of a response that caches may store. */
type OcspReply = { der: Buffer; kept?: { since: Date; until: Date } }
type Signed = Required<OcspReply>
type Kept = { status: OcspStatus; until: Date; signed: Promise<Signed> }
type OcspCaller = { tenant: TenantId; authority: Authority; from: string }

/** Validity of a response. A signed response is reused for half of that. */
const lifetime = 10 * minute
const rememberMost = 10_000
/** Signature limits of this replica. Requests for certificates that were never issued have a limit of their own. */
const signaturesPerMinute = { issued: 30_000, unknown: 6000 }

/**
 * OCSP responder (RFC 6960). A response for one certificate without a nonce is signed once and reused (RFC 5019) until
 * the certificate's status changes. Throws `rate_limited` if requests exceed the capacity for look-ups or signatures.
 */
export function createOcsp({ now, statusesOf }: Pick<CertificatesDeps, 'now'> & { statusesOf: StatusesOf }) {
  const responders = new WeakMap<Authority, OcspResponder>()
  const remembered = new BoundedMap<string, Kept>(rememberMost)
  const budget = createRateLimiter()

  function responderOf(authority: Authority): OcspResponder {
    const known = responders.get(authority) ?? ocspResponder(authority.signer, authority.certificate)
    responders.set(authority, known)
    return known
  }
  async function sign(
    authority: Authority,
    { certIds, nonce }: OcspRequest,
    statuses: readonly OcspStatus[],
    since: Date,
  ): Promise<Signed> {
    const kind = statuses.includes('unknown') ? 'unknown' : 'issued'
    const wait = budget.take(kind, signaturesPerMinute[kind], performance.now())
    if (wait > 0) throw tooMany('OCSP requests', wait)
    const until = new Date(since.getTime() + lifetime)
    const responses = certIds.map((certId, i) => ({
      certId,
      status: statuses[i]!,
      thisUpdate: since,
      nextUpdate: until,
    }))
    const der = await responderOf(authority).respond({ producedAt: since, responses, ...(nonce && { nonce }) })
    return { der, kept: { since, until } }
  }

  /** Concurrent requests for the same certificate share a signature. */
  function signOnce(authority: Authority, certId: CertId, status: OcspStatus, since: Date): Promise<Signed> {
    const key = `${authority.signerId} ${certId.der.toString('base64url')}`
    const before = remembered.get(key)
    if (before && isSame(before.status, status) && since < before.until) return before.signed
    const signed = sign(authority, { certIds: [certId] }, [status], since)
    const cached = { status, until: new Date(since.getTime() + lifetime / 2), signed }
    remembered.set(key, cached)
    signed.catch(() => remembered.get(key) === cached && remembered.delete(key))
    return signed
  }

  async function answer({ tenant, authority, from }: OcspCaller, request: OcspRequest): Promise<OcspReply> {
    const { certIds, nonce } = request
    const { isIssuerOf } = responderOf(authority)
    if (!certIds.every(isIssuerOf)) return { der: ocspErrorResponse('unauthorized') }
    const caller = { tenant, issuerId: authority.signerId, from }
    const statuses = await statusesOf(
      caller,
      certIds.map(({ serial }) => serial),
    )
    const since = new Date(Math.floor(now().getTime() / second) * second)
    const [status] = statuses
    if (nonce || certIds.length > 1 || status === undefined || status === 'unknown')
      return { der: (await sign(authority, request, statuses, since)).der }
    return signOnce(authority, certIds[0]!, status, since)
  }

  return async (caller: OcspCaller, der: Buffer): Promise<OcspReply> => {
    let request: OcspRequest
    try {
      request = readOcspRequest(der)
    } catch (e) {
      if (!(e instanceof CryptoError)) throw e
      return { der: ocspErrorResponse(e.code === 'bad_algorithm' ? 'unauthorized' : 'malformedRequest') }
    }
    return answer(caller, request)
  }
}
export type Ocsp = ReturnType<typeof createOcsp>

const isSame = (a: OcspStatus, b: OcspStatus): boolean =>
  typeof a === 'string' || typeof b === 'string'
    ? a === b
    : a.reason === b.reason && a.revokedAt.getTime() === b.revokedAt.getTime()
