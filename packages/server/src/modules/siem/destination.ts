import type { SiemConnectorKind, SiemFormat } from '@holdfast/contract/vocabulary'
import { openCertificate } from '@holdfast/crypto'
import type { Destination } from '../../db/tables/siem.ts'
import { failField } from '../../kernel/app-error.ts'
import type { Outbound } from '../../outbound/outbound.ts'

export const nowhere: Destination = {
  url: null,
  host: null,
  port: null,
  index: null,
  username: null,
  bom: null,
  tls: { ca_pem: null, server_name: null },
}
const syslogPort = 6514

type Field = Exclude<keyof Destination, 'tls' | 'bom'>
/** Fields that each kind requires (`needs`), and those that it allows besides (`takes`). */
export const destinationFields: Readonly<
  Record<SiemConnectorKind, { needs: readonly Field[]; takes: readonly Field[]; tls: boolean }>
> = {
  syslog_tls: { needs: ['host', 'port'], takes: [], tls: true },
  syslog_tcp: { needs: ['host', 'port'], takes: [], tls: false },
  webhook: { needs: ['url'], takes: [], tls: true },
  splunk_hec: { needs: ['url'], takes: ['index'], tls: true },
  opensearch: { needs: ['url', 'index'], takes: ['username'], tls: true },
}

export const isSyslog = (kind: SiemConnectorKind): boolean => kind === 'syslog_tls' || kind === 'syslog_tcp'

/** True if a byte order mark precedes the text of a message (RFC 5424 §6.4). Null if the kind has no such text. */
export const bomOf = (kind: SiemConnectorKind, { bom }: Destination): boolean | null =>
  isSyslog(kind) ? (bom ?? true) : null

/** JSON can be written in ASCII, which needs no byte order mark and which every receiver accepts. CEF gets the mark. */
export const withUsualBom = (kind: SiemConnectorKind, format: SiemFormat, d: Destination): Destination =>
  isSyslog(kind) && d.bom == null ? { ...d, bom: format === 'cef' } : d

/** Syslog over TLS has a default port of its own (RFC 5425 §4.1). */
export const withUsualPort = (kind: SiemConnectorKind, d: Destination): Destination =>
  kind === 'syslog_tls' && d.port === null ? { ...d, port: syslogPort } : d

/** Throws 422 by field if a connector of this kind could not send there. */
export function checkDestination(
  kind: SiemConnectorKind,
  d: Destination,
  outbound: Pick<Outbound, 'refusalOf' | 'socketRefusalOf'>,
): void {
  const { needs, takes, tls } = destinationFields[kind]
  for (const name of ['url', 'host', 'port', 'index', 'username'] as const) {
    if (d[name] === null && needs.includes(name)) failField(name, `is required for ${kind}`)
    if (d[name] !== null && !needs.includes(name) && !takes.includes(name))
      failField(name, `is not allowed for ${kind}`)
  }
  const { ca_pem, server_name } = d.tls
  if (!isSyslog(kind) && d.bom != null) failField('bom', `is not allowed for ${kind}`)
  if (!tls && (ca_pem !== null || server_name !== null)) failField('tls', `is not allowed for ${kind}`)
  if (ca_pem !== null && !isCertificates(ca_pem)) failField('tls.ca_pem', 'must be certificates in PEM')
  if (d.url !== null) {
    const refusal = outbound.refusalOf(d.url)
    if (refusal) failField('url', refusal)
  }
  if (d.host !== null && d.port !== null) {
    const names = { ca: ca_pem, serverName: server_name }
    const refusal = outbound.socketRefusalOf({ host: d.host, port: d.port, ...(tls && { tls: names }) })
    if (refusal) failField('host', refusal)
  }
}

function isCertificates(pem: string): boolean {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)
  try {
    for (const block of blocks ?? []) openCertificate(block)
    return blocks !== null
  } catch {
    return false
  }
}

export const originOf = (url: string | null): string | null => (url === null ? null : new URL(url).origin)
/** Identity of the receiver of a credential. If it changes, the credential must be given again. */
export const receiverOf = ({ url, tls }: Destination): string =>
  JSON.stringify([originOf(url), tls.ca_pem, tls.server_name])
