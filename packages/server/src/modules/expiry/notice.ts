import { type ExpiryType, spoken } from '@holdfast/contract/vocabulary'
import type { ExpiringObject } from '../../kernel/expiring-object.ts'
import type { Notice } from '../notifications/index.ts'
import type { Threshold } from './standing.ts'

const mostNamed = 20
const severities = { 1: 'critical', 7: 'warning', 14: 'info', 30: 'info' } as const
const nouns: Partial<Record<ExpiryType, readonly [one: string, many: string]>> = {
  identity_provider_certificate: ['certificate of the identity provider', 'certificates of identity providers'],
  identity_provider_metadata: ['metadata document of the identity provider', 'metadata documents'],
  issuing_ca: ['issuing CA', 'issuing CAs'],
  crl: ['CRL', 'CRLs'],
  tls_certificate: ['TLS certificate', 'TLS certificates'],
}
/** Effect of each expiry, and the step that prevents it. */
const advice: Record<ExpiryType, string> = {
  api_key: 'What uses it is refused then: make another one and put it there.',
  gateway_secret: 'The gateway is shut out then: give it its new secret.',
  identity_provider_certificate:
    'Identity providers usually sign with another one by then, which is not accepted until it is known here.',
  identity_provider_metadata: 'Nobody signs in by this provider then: make its metadata readable again.',
  trust_anchor: 'Nothing under it is valid then: rotate the trust anchors.',
  issuing_ca: 'It should have been followed by another one: look at the log of the server.',
  cross_certificate: 'It ends with one of its roots.',
  signing_key: 'Another one signs in its place.',
  trust_set: 'It should have been issued anew: look at the log of the server.',
  crl: 'It should have been issued anew, and gateways refuse device certificates without: look at the log of the server.',
  tls_certificate: 'Clients refuse to connect then: put a new one in its place and restart the server.',
  license: 'Nothing can be added once its grace is over: load another one.',
}

/** Builds the notice for items of one type that passed a threshold together, soonest first. */
export function expiryNotice(
  [first, ...more]: readonly [ExpiringObject, ...ExpiringObject[]],
  days: Threshold,
  cause: string,
  at: Date,
): Notice {
  const { type, id, name } = first
  const [one, many] = nouns[type] ?? [spoken(type), `${spoken(type)}s`]
  const by = days === 1 ? 'in a day or less' : `in ${days} days or less`
  const of = { kind: 'expiring', severity: severities[days], dedupe_key: cause } as const
  if (more.length === 0)
    return {
      ...of,
      title: `The ${one} ${name} ${first.expiresAt > at ? `expires ${by}` : 'has expired'}`,
      detail: `Its end is ${first.expiresAt.toISOString()}. ${advice[type]}`,
      subject: { type, id, name },
    }
  const all = [first, ...more]
  const areOver = all.every(({ expiresAt }) => expiresAt <= at)
  const named = all.slice(0, mostNamed).map((e) => `${e.expiresAt.toISOString()} ${e.name} (${e.id})`)
  const rest = all.length - named.length
  return {
    ...of,
    title: `${all.length} ${many} ${areOver ? 'have expired' : `expire ${by}`}`,
    detail: [
      advice[type],
      ...named,
      ...(rest > 0 ? [`and ${rest} more: GET /v1/admin/certs/expiry?type=${type}`] : []),
    ].join('\n'),
    subject: { type, id: null, name: null },
  }
}
