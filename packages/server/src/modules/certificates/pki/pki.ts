import { hash } from 'node:crypto'
import { ocspErrorResponse } from '@holdfast/crypto'
import { isKnown } from '../../../http/answer/representation.ts'
import type { Answered, PlainRequest } from '../../../http/connection/plain-listener.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { AppError } from '../../../kernel/app-error.ts'
import { decodeId } from '../../../kernel/ids.ts'
import { day, minute, second } from '../../../kernel/time.ts'
import type { Authority } from '../../trust/index.ts'
import type { Crls } from '../crl/crls.ts'
import type { CertificatesDeps } from '../deps.ts'
import type { Ocsp } from './ocsp.ts'

type Named = { tenant: TenantId; authority: Authority; isIssuing: boolean; rest: string }
type Route = {
  path: RegExp
  methods: readonly string[]
  otherwise: Answered
  answer: (issuer: Named, plainRequest: PlainRequest) => Promise<Answered> | Answered
}

const ocspType = 'application/ocsp-response'
const notFound: Answered = { status: 404, headers: { 'cache-control': 'no-store' } }
/** Too many requests, or the database is unavailable: no certificate status is given (RFC 6960 §2.3). */
const later: Answered = { status: 503, headers: { 'cache-control': 'no-store', 'retry-after': '2' } }
const tryLater: Answered = {
  status: 200,
  headers: { 'cache-control': 'no-store', 'content-type': ocspType },
  body: ocspErrorResponse('tryLater'),
}
const reads = ['GET', 'HEAD']
/** Clients send longer requests by POST (RFC 6960 §A.1). */
const longestInPath = 1024
/**
 * Maximum time that a cache may hide a newer document. A CRL is valid for a day, but the next one may come much
 * earlier.
 */
const hiddenMs = minute

/**
 * Public addresses in certificates (RFC 5280 §4.2.1.13, §4.2.2.1, RFC 6960 §A): CRL and certificate of each published
 * authority, and OCSP for the issuing CAs. An invented name costs no SQL statement.
 */
export function createPki({
  trust,
  tenantNamed,
  now,
  crls,
  ocsp,
}: Pick<CertificatesDeps, 'trust' | 'tenantNamed' | 'now'> & { crls: Crls; ocsp: Ocsp }) {
  async function find(tenantText: string, signerText: string): Promise<Omit<Named, 'rest'> | undefined> {
    const tenant = tenantNamed(tenantText)
    const signerId = decodeId('signer', signerText)
    if (!tenant || signerId === undefined) return undefined
    const { roots, issuing } = await trust.keyring(tenant)
    const authority = [...issuing, ...roots].find((a) => a.signerId === signerId)
    return authority && { tenant, authority, isIssuing: issuing.includes(authority) }
  }

  async function list({ tenant, authority }: Named, { headers }: PlainRequest): Promise<Answered> {
    const found = (await crls.get(tenant)).find((crl) => crl.authority.signerId === authority.signerId)
    if (!found) return notFound
    const { der, number, issuedAt, nextUpdate } = found
    return document(headers, {
      type: 'application/pkix-crl',
      tag: String(number),
      body: der,
      since: issuedAt,
      maxAge: Math.min(hiddenMs, nextUpdate.getTime() - now().getTime()),
    })
  }
  function certificate({ authority: { x509 } }: Named, { headers }: PlainRequest): Answered {
    const body = x509.raw
    return document(headers, {
      type: 'application/pkix-cert',
      tag: x509.fingerprint256.replaceAll(':', '').toLowerCase(),
      body,
      since: x509.validFromDate,
      maxAge: day,
    })
  }
  async function status(issuer: Named, request: Buffer, { method, headers, from }: PlainRequest): Promise<Answered> {
    const { der, kept } = await ocsp({ ...issuer, from }, request)
    if (!kept || method === 'POST')
      return { status: 200, headers: { 'content-type': ocspType, 'cache-control': 'no-store' }, body: der }
    const tag = hash('sha256', der, 'hex')
    return document(headers, { type: ocspType, tag, body: der, since: kept.since, maxAge: hiddenMs })
  }

  const routes: readonly Route[] = [
    { path: /^\/crl\/([^/]+)\/([^/]+)\.crl$/, methods: reads, otherwise: later, answer: list },
    { path: /^\/ca\/([^/]+)\/([^/]+)\.cer$/, methods: reads, otherwise: later, answer: certificate },
    {
      path: /^\/ocsp\/([^/]+)\/([^/]+)\/?$/,
      methods: ['POST'],
      otherwise: tryLater,
      answer: async (issuer, plainRequest) => {
        if (!issuer.isIssuing) return notFound
        const body = await plainRequest.body()
        return body ? status(issuer, body, plainRequest) : { status: 413 }
      },
    },
    {
      path: /^\/ocsp\/([^/]+)\/([^/]+)\/(.+)$/,
      methods: reads,
      otherwise: tryLater,
      answer: (issuer, plainRequest) => {
        const request = issuer.isIssuing ? inPath(issuer.rest) : undefined
        return request ? status(issuer, request, plainRequest) : notFound
      },
    },
  ]

  return async (plainRequest: PlainRequest): Promise<Answered> => {
    for (const { path, methods, otherwise, answer } of routes) {
      const [, tenant, signer, rest = ''] = path.exec(plainRequest.path) ?? []
      if (tenant === undefined || signer === undefined) continue
      if (!methods.includes(plainRequest.method)) return { status: 405, headers: { allow: methods.join(', ') } }
      try {
        const issuer = await find(tenant, signer)
        return issuer ? await answer({ ...issuer, rest }, plainRequest) : notFound
      } catch (e) {
        if (e instanceof AppError) return otherwise
        throw e
      }
    }
    return notFound
  }
}

/** Decodes base64 in a path. RFC 6960 §A.1 requires percent-encoding, which some clients omit. */
function inPath(text: string): Buffer | undefined {
  if (text.length > longestInPath) return undefined
  try {
    const base64 = decodeURIComponent(text)
    return /^[A-Za-z0-9+/]+={0,2}$/.test(base64) ? Buffer.from(base64, 'base64') : undefined
  } catch {
    return undefined
  }
}

type Document = { type: string; tag: string; body: Buffer; since: Date; maxAge: number }

/** A response that any cache may store and revalidate by ETag or time (RFC 9110 §13). */
function document(headers: PlainRequest['headers'], { type, tag, body, since, maxAge }: Document): Answered {
  const etag = `"${tag}"`
  const cacheHeaders = {
    etag,
    'last-modified': since.toUTCString(),
    'cache-control': `public, max-age=${Math.max(0, Math.floor(maxAge / second))}, no-transform, must-revalidate`,
  }
  const { 'if-none-match': tags, 'if-modified-since': date } = headers
  const isThere = tags === undefined ? date !== undefined && Date.parse(date) >= since.getTime() : isKnown(tags, etag)
  return isThere
    ? { status: 304, headers: cacheHeaders }
    : { status: 200, headers: { ...cacheHeaders, 'content-type': type }, body }
}
