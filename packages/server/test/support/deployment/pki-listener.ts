import type { TestContext } from 'node:test'
import { request } from 'undici'
import { newCsr } from '../actors/certificate-requests.ts'
import { enroll, publish, rule } from '../actors/gateways.ts'
import { ocspRequest, readOcsp } from '../clients/ocsp-client.ts'
import { createClock, type Kit, type Replica, startKit } from './deployment.ts'

/** The base URL in certificates; it is served at the replica's `pkiUrl`. */
export const pkiName = 'http://pki.holdfast.test'

/** The addresses in a certificate (PEM), in their order. */
export const addressesIn = (certificate: string): string[] =>
  Buffer.from(certificate.split('-----')[2]!, 'base64')
    .toString('latin1')
    .match(/http:[\x21-\x7e]+?(?:\.crl|\.cer|sgn_\w{26}(?!\.))/g) ?? []

/** A replica that serves the addresses in certificates, with a device. */
export async function startPki(t: TestContext, options: Parameters<typeof startKit>[1] = {}) {
  const clock = createClock()
  const config = { pki: { port: 0, url: pkiName }, ...options.config }
  const kit = await startKit(t, { now: clock.now, ...options, config })
  await publish(kit, [rule('all', { any: true })])
  const device = await enroll(kit, 'laptop', { now: clock.now })
  return { kit, clock, device, issue: (of = device) => issueTo(of) }
}

/** Issues a certificate; the addresses in it are returned as paths. */
export async function issueTo({ client }: Awaited<ReturnType<typeof enroll>>) {
  const issued = await client.issueSpc({ body: { csr: await newCsr() } })
  const [crl, ocsp, issuer] = addressesIn(issued.certificate).map((url) => new URL(url).pathname)
  return { ...issued, issuing: issued.chain[0]!, paths: { crl: crl!, ocsp: ocsp!, issuer: issuer! } }
}
export type Issued = Awaited<ReturnType<typeof issueTo>>

/** Sends a request to a replica's `pkiUrl`. */
export async function fetchPki(
  { pkiUrl }: Pick<Replica, 'pkiUrl'>,
  path: string,
  { method = 'GET', ...more }: { method?: string; headers?: Record<string, string>; body?: Buffer } = {},
) {
  const { statusCode, headers, body } = await request(`${pkiUrl}${path}`, { method: method as 'GET', ...more })
  return { status: statusCode, headers, bytes: Buffer.from(await body.arrayBuffer()) }
}

/** Sends an OCSP request by POST, for the issued certificate unless serial numbers are given. */
export async function askOcsp(
  at: Pick<Kit, 'pkiUrl'>,
  { spc, issuing, paths }: Issued,
  { serials = [spc.serial], nonce }: { serials?: string[]; nonce?: Buffer } = {},
) {
  const body = ocspRequest(issuing, serials, nonce)
  const headers = { 'content-type': 'application/ocsp-request' }
  const got = await fetchPki(at, paths.ocsp, { method: 'POST', headers, body })
  return { ...got, ...readOcsp(got.bytes) }
}
export const statusOf = async (at: Pick<Kit, 'pkiUrl'>, issued: Issued) =>
  (await askOcsp(at, issued)).answers[0]?.status
