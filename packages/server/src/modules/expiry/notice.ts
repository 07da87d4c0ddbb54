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
  api_key: 'After that, the server refuses programs that use it. Create a new key, and configure the programs with it.',
  gateway_secret: 'After that, the server refuses the gateway. Configure the gateway with its new secret.',
  identity_provider_certificate:
    'The identity provider usually changes to a new certificate before that. Add the new certificate to the provider here; otherwise sign-ins fail.',
  identity_provider_metadata:
    'After that, no user can sign in with this provider. Make its metadata URL reachable for this server again.',
  trust_anchor: 'After that, all certificates below it are invalid. Rotate the trust anchors.',
  issuing_ca: 'The server should have replaced it already. Look for the cause in the log of the server.',
  cross_certificate: 'It expires together with one of its roots. No action is needed.',
  signing_key: 'Another key has replaced it. No action is needed.',
  trust_set: 'The server should have renewed it already. Look for the cause in the log of the server.',
  crl: 'The server should have renewed it already. Gateways refuse device certificates without a current CRL. Look for the cause in the log of the server.',
  tls_certificate: 'After that, clients refuse to connect. Replace the certificate file, and restart the server.',
  license: 'After its grace period, no device, user, gateway or tenant can be added. Load a new license.',
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
      detail: `It expires at ${first.expiresAt.toISOString()}. ${advice[type]}`,
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
