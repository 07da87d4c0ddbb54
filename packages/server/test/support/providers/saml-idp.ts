import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { inflateRawSync } from 'node:zlib'
import { changeIdentityProvider } from '@holdfast/sdk'
import { type Browser, openBrowser } from '../clients/browser.ts'
import { createClock, type Kit, type Replica, startKit } from '../deployment/deployment.ts'
import { opened } from '../domain/notifications.ts'
import { key as firstKey, plainResponse, posted, signed } from './saml-responses.ts'

type Key = typeof firstKey
type Edit = ((xml: string) => string) | undefined
type Said = Pick<NonNullable<Parameters<typeof plainResponse>[0]>, 'subject' | 'attributes' | 'id' | 'now'>
type Given = Parameters<typeof changeIdentityProvider>[2]
/** The form that a browser posts to the service. */
type Form = { SAMLResponse: string; RelayState: string }

const bare = (pem: string) => pem.replace(/-----[A-Z ]+-----|\n/g, '')
export const metadataOf = (entityId: string, ssoUrl: string, keys: readonly Key[], more = ''): string =>
  `<?xml version="1.0"?><md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" xmlns:ds="http://www.w3.org/2000/09/xmldsig#" entityID="${entityId}"${more}>` +
  '<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">' +
  keys
    .map(
      ({ pem }) =>
        `<md:KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${bare(pem)}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>`,
    )
    .join('') +
  `<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${ssoUrl}"/>` +
  '</md:IDPSSODescriptor></md:EntityDescriptor>'

/** A SAML identity provider on loopback. It publishes its metadata and signs the responses that a test defines. */
export async function startSamlIdp(t: Pick<TestContext, 'after'>) {
  const idp = {
    keys: [firstKey],
    entityId: 'https://idp.example/saml',
    more: '',
    hits: 0,
    /** Replaces the answer with the metadata. */
    answer: undefined as RequestListener | undefined,
  }
  const ssoUrl = 'https://idp.example/sso'
  const server = createServer((request, response) => {
    idp.hits++
    if (idp.answer) return idp.answer(request, response)
    response.writeHead(200, { 'content-type': 'application/samlmetadata+xml' })
    return response.end(metadataOf(idp.entityId, ssoUrl, idp.keys, idp.more))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return Object.assign(idp, { ssoUrl, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/metadata` })
}
export type SamlIdp = Awaited<ReturnType<typeof startSamlIdp>>

/** The SAML request in a redirect to the provider. */
export function requestIn(url: string): { id: string; relayState: string; acsUrl: string; entityId: string } {
  const { searchParams } = new URL(url)
  const xml = inflateRawSync(Buffer.from(searchParams.get('SAMLRequest') ?? '', 'base64')).toString()
  const found = (pattern: RegExp) => pattern.exec(xml)?.[1] ?? assert.fail(xml)
  return {
    id: found(/ ID="([^"]*)"/),
    relayState: searchParams.get('RelayState') ?? '',
    acsUrl: found(/AssertionConsumerServiceURL="([^"]*)"/),
    entityId: found(/Issuer[^>]*>([^<]*)</),
  }
}

/** Makes one assertion answer two requests, as a misbehaving provider might. */
export const answeringBoth =
  (...ids: [string, string]) =>
  (xml: string) =>
    xml.replace(/<saml:SubjectConfirmation .*?<\/saml:SubjectConfirmation>/, (confirmation) =>
      ids.map((id) => confirmation.replace(/InResponseTo="[^"]*"/, `InResponseTo="${id}"`)).join(''),
    )

let made = 0
/** The provider's response to a request; `change` edits it before it is signed. */
export function answerTo(
  idp: Pick<SamlIdp, 'entityId' | 'keys'>,
  url: string,
  said: Said = {},
  change: (xml: string) => string = (xml) => xml,
  sign: (xml: string) => string = (xml) => signed(xml, 'Assertion', { key: idp.keys.at(-1)! }),
): Form {
  const { id, relayState, acsUrl, entityId } = requestIn(url)
  const to = { issuer: idp.entityId, acsUrl, entityId }
  const xml = plainResponse({ to, requestId: id, now: new Date(), id: `x${++made}`, ...said })
  return { SAMLResponse: posted(sign(change(xml))), RelayState: relayState }
}

/** A deployment whose users sign in by SAML. `settings` override the provider's settings. */
export async function startSaml(
  t: TestContext,
  { settings = {}, ...options }: { settings?: Given } & Parameters<typeof startKit>[1] = {},
) {
  const clock = createClock()
  const idp = await startSamlIdp(t)
  const kit = await startKit(t, { now: clock.now, ...options, config: { ...opened, ...options.config } })
  const provider = await kit.admin.createIdentityProvider({
    body: { name: 'Login', kind: 'saml', provisioning: 'create', saml: { metadata_url: idp.url } },
  })
  const params = { provider_id: provider.provider_id }
  const set = (named: Given) => changeIdentityProvider(kit.admin, { params }, named)
  if (Object.keys(settings).length > 0) await set(settings)
  const start = `/admin/login/saml?provider=${provider.provider_id}`
  const acs = new URL(String(provider.saml?.acs_url)).pathname
  const anna = { username: 'anna', email: 'anna@example.com', displayName: 'Anna' }
  /** Returns the redirect to the provider. */
  const away = async (browser: Browser, more = '', replica: Pick<Replica, 'url'> = kit) => {
    const sent = await browser.get(start + more, replica)
    assert.equal(sent.status, 303, sent.text)
    return String(sent.headers.location)
  }
  const answer = (url: string, said: Said = {}, ...more: [Edit?, Edit?]) =>
    answerTo(idp, url, { now: clock.now(), attributes: anna, ...said }, ...more)
  return {
    kit,
    clock,
    idp,
    provider,
    params,
    set,
    acs,
    away,
    answer,
    /** A complete sign-in of one person. */
    signIn: async (said: Said = {}, more = '') => {
      const browser = openBrowser(kit)
      const form = answer(await away(browser, more), said)
      return { browser, form, answer: await browser.post(acs, form) }
    },
    reasons: (limit?: number) => reasonsOf(kit, limit),
  }
}
export type SamlWorld = Awaited<ReturnType<typeof startSaml>>

/** The reasons of the newest refused sign-ins, newest first. */
const reasonsOf = async (kit: Kit, limit = 1) =>
  (await kit.admin.listAuditEvents({ query: { kind: 'login.failed', limit } })).items.map(
    (event) => 'failure_reason' in event && event.failure_reason,
  )
