import { generateKeyPairSync, type KeyObject, sign, X509Certificate } from 'node:crypto'
import { SignedXml } from 'xml-crypto'
import type { SamlProvider } from '../../../src/modules/federation/protocols/saml/provider.ts'

// An identity provider for tests. It signs any content.

type Key = { privateKey: KeyObject; pem: string }
export const rsaKey = (modulusLength = 2048): Key => certified(generateKeyPairSync('rsa', { modulusLength }))
export const ecKey = (): Key => certified(generateKeyPairSync('ec', { namedCurve: 'P-256' }))

/** Returns a self-signed certificate with placeholder fields. */
function certified({ publicKey, privateKey }: { publicKey: KeyObject; privateKey: KeyObject }): Key {
  const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
    const content = Buffer.concat(parts)
    const length = content.length < 128 ? [content.length] : [0x82, content.length >> 8, content.length & 255]
    return Buffer.concat([Buffer.from([tag, ...length]), content])
  }
  const oid = privateKey.asymmetricKeyType === 'rsa' ? '06092a864886f70d01010b0500' : '06082a8648ce3d040302'
  const algorithm = der(0x30, Buffer.from(oid, 'hex'))
  const name = der(0x30, der(0x31, der(0x30, Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from('idp')))))
  const validity = der(0x30, ...['250101000000Z', '350101000000Z'].map((time) => der(0x17, Buffer.from(time))))
  const spki = publicKey.export({ format: 'der', type: 'spki' })
  const tbs = der(0x30, Buffer.from('020101', 'hex'), algorithm, name, validity, name, spki)
  const signature = der(0x03, Buffer.from([0]), sign('sha256', tbs, privateKey))
  return { privateKey, pem: new X509Certificate(der(0x30, tbs, algorithm, signature)).toString() }
}

export const now = new Date('2026-11-22T12:00:00.000Z')
export const at = (seconds: number): string => new Date(now.getTime() + seconds * 1000).toISOString()
export const key = rsaKey()
export const provider: SamlProvider = {
  issuer: 'https://idp.example/saml',
  ssoUrl: 'https://idp.example/sso?tenant=1',
  certificates: [key.pem],
  entityId: 'https://fleet.example/saml/prv_1',
  acsUrl: 'https://fleet.example/admin/login/saml/callback/prv_1',
  signedResponse: false,
}
export const requestId = '_request1'

type Said = {
  to?: Pick<SamlProvider, 'issuer' | 'acsUrl' | 'entityId'>
  requestId?: string
  /** Time of the statement. */
  now?: Date
  id?: string
  subject?: string
  attributes?: Readonly<Record<string, string | readonly string[]>>
}

/** A valid response without a signature. */
export function plainResponse({
  to = provider,
  requestId: answered = requestId,
  now: said = now,
  id = '1',
  subject = 'anna',
  attributes = { groups: ['staff', 'admins'], mail: 'anna@example.com' },
}: Said = {}): string {
  const when = (seconds: number) => new Date(said.getTime() + seconds * 1000).toISOString()
  const stated = Object.entries(attributes).map(
    ([name, values]) =>
      `<saml:Attribute Name="${name}">${[values]
        .flat()
        .map((value) => `<saml:AttributeValue>${value}</saml:AttributeValue>`)
        .join('')}</saml:Attribute>`,
  )
  return (
    `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="_response${id}" Version="2.0" IssueInstant="${when(0)}" Destination="${to.acsUrl}" InResponseTo="${answered}">` +
    `<saml:Issuer>${to.issuer}</saml:Issuer><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>` +
    `<saml:Assertion ID="_assertion${id}" Version="2.0" IssueInstant="${when(0)}"><saml:Issuer>${to.issuer}</saml:Issuer>` +
    `<saml:Subject><saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">${subject}</saml:NameID>` +
    `<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData NotOnOrAfter="${when(300)}" Recipient="${to.acsUrl}" InResponseTo="${answered}"/></saml:SubjectConfirmation></saml:Subject>` +
    `<saml:Conditions NotBefore="${when(-60)}" NotOnOrAfter="${when(300)}"><saml:AudienceRestriction><saml:Audience>${to.entityId}</saml:Audience></saml:AudienceRestriction></saml:Conditions>` +
    `<saml:AuthnStatement AuthnInstant="${when(-10)}" SessionIndex="_s1"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>` +
    `<saml:AttributeStatement>${stated.join('')}</saml:AttributeStatement></saml:Assertion></samlp:Response>`
  )
}

type Signing = {
  key?: Key
  algorithm?: string
  digest?: string
  transforms?: string[]
  keyInfo?: string
  prefix?: string
  inclusive?: string
}
const exclusive = 'http://www.w3.org/2001/10/xml-exc-c14n#'

/** Returns the XML with a signature over its response or its assertion, after the issuer as the schema requires. */
export function signed(xml: string, what: 'Response' | 'Assertion', signing: Signing = {}): string {
  const element = `//*[local-name(.)='${what}']`
  const signer = new SignedXml({
    privateKey: (signing.key ?? key).privateKey.export({ format: 'pem', type: 'pkcs8' }),
    publicCert: signing.keyInfo ?? (signing.key ?? key).pem,
    signatureAlgorithm: signing.algorithm ?? 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    canonicalizationAlgorithm: exclusive,
  })
  const transforms = signing.transforms ?? ['http://www.w3.org/2000/09/xmldsig#enveloped-signature', exclusive]
  signer.addReference({
    xpath: element,
    digestAlgorithm: signing.digest ?? 'http://www.w3.org/2001/04/xmlenc#sha256',
    transforms,
    ...(signing.inclusive && { inclusiveNamespacesPrefixList: [signing.inclusive] }),
  })
  const location = { reference: `${element}/*[local-name(.)='Issuer']`, action: 'after' } as const
  signer.computeSignature(xml, { prefix: signing.prefix ?? 'ds', location })
  return signer.getSignedXml()
}

export const posted = (xml: string): string => Buffer.from(xml).toString('base64')
