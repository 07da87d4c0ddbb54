import type { X509Certificate } from 'node:crypto'
import { FederationError } from '../proven-identity.ts'
import { isUsable, readCertificate } from './certificates.ts'
import { childrenOf, elementText, instantOf } from './elements.ts'
import { nameIdFormats, ns, samlBindings } from './names.ts'
import { isSsoUrl, type SamlProvider } from './provider.ts'
import { readXml, type XmlElement } from './xml.ts'

export type IdpMetadata = {
  issuer: string
  ssoUrl: string
  certificates: { pem: string; notAfter: Date }[]
  /** End of the validity of the metadata. */
  validUntil: Date | undefined
}

const maxLength = 256 * 1024
const maxEntityId = 1024

const refuse = (message: string): never => {
  throw new FederationError('discovery', message)
}

/** Reads the sign-in settings in an identity provider's metadata. */
export function readIdpMetadata(xml: string, now: Date): IdpMetadata {
  if (xml.length > maxLength) refuse(`The metadata are longer than ${maxLength} characters.`)
  const [entity, ...around] = entityIn(readXml(xml))
  const issuer = entity.attributes.get('entityID') ?? ''
  if (issuer === '' || issuer.length > maxEntityId || issuer.trim() !== issuer) refuse('The metadata have no entityID.')
  const [idp, another] = childrenOf(entity, ns.metadata, 'IDPSSODescriptor').filter(isIdp)
  if (!idp || another) return refuse('The metadata must have exactly one IDPSSODescriptor for SAML 2.0.')
  const ends = [...around, entity, idp].flatMap(({ attributes }) => {
    const text = attributes.get('validUntil')
    return text === undefined ? [] : (instantOf(text) ?? refuse('The validUntil of the metadata is not a time.'))
  })
  const [validUntil] = ends.toSorted((a, b) => a.getTime() - b.getTime())
  if (validUntil && validUntil <= now) refuse('The metadata have expired.')
  return { issuer, ssoUrl: ssoUrlOf(idp), certificates: certificatesOf(idp), validUntil }
}

const isIdp = (role: XmlElement) =>
  role.attributes.get('protocolSupportEnumeration')?.split(' ').includes(ns.protocol) ?? false
const mostNamed = 10

/**
 * Returns the one entity that is an identity provider, and its ancestors, whose `validUntil` also applies. A federation
 * lists several entities (SAML metadata 2.0 §2.3.1); they are refused, since an administrator must choose one.
 */
function entityIn(root: XmlElement): [entity: XmlElement, ...around: XmlElement[]] {
  if (root.namespace === ns.metadata && root.name === 'EntityDescriptor') return [root]
  const found: [XmlElement, ...XmlElement[]][] = []
  const look = (list: XmlElement, around: readonly XmlElement[]) => {
    for (const child of childrenOf(list, ns.metadata, 'EntityDescriptor'))
      if (childrenOf(child, ns.metadata, 'IDPSSODescriptor').some(isIdp)) found.push([child, list, ...around])
    for (const inner of childrenOf(list, ns.metadata, 'EntitiesDescriptor')) look(inner, [list, ...around])
  }
  if (root.namespace === ns.metadata && root.name === 'EntitiesDescriptor') look(root, [])
  const [one, ...more] = found
  if (!one) return refuse('The metadata are not those of an identity provider.')
  if (more.length === 0) return one
  const ids = found.map(([{ attributes }]) => attributes.get('entityID') ?? '')
  const shownIds = ids.slice(0, mostNamed).map((id) => id.slice(0, 200))
  const rest = ids.length > mostNamed ? ` and ${ids.length - mostNamed} more` : ''
  return refuse(
    `The metadata describe ${ids.length} identity providers (${shownIds.join(', ')}${rest}): give the metadata of only one.`,
  )
}

function ssoUrlOf(idp: XmlElement): string {
  const services = childrenOf(idp, ns.metadata, 'SingleSignOnService')
  const location = services.find(({ attributes }) => attributes.get('Binding') === samlBindings.redirect)
  const url = location?.attributes.get('Location') ?? ''
  if (url === '') refuse('The metadata have no sign-in URL with the HTTP-Redirect binding.')
  return isSsoUrl(url) ? url : refuse('The sign-in URL does not begin with https://.')
}

/** Returns the signing certificates: keys declared for signing, or without a declared use. */
function certificatesOf(idp: XmlElement): IdpMetadata['certificates'] {
  const found = new Map<string, X509Certificate>()
  for (const key of childrenOf(idp, ns.metadata, 'KeyDescriptor')) {
    if (key.attributes.get('use') === 'encryption') continue
    const data = childrenOf(key, ns.signature, 'KeyInfo').flatMap((info) => childrenOf(info, ns.signature, 'X509Data'))
    for (const element of data.flatMap((each) => childrenOf(each, ns.signature, 'X509Certificate'))) {
      const certificate = readCertificate(elementText(element) ?? '')
      found.set(certificate.fingerprint256, certificate)
    }
  }
  const usable = [...found.values()].filter(isUsable)
  if (usable.length === 0 || usable.length > 10)
    throw new FederationError(
      'keys',
      'The metadata have no certificate with an RSA key of 2048 bits or more, or too many certificates.',
    )
  return usable.map((certificate) => ({ pem: String(certificate), notAfter: certificate.validToDate }))
}

/** Returns our metadata for an identity provider, with a cache duration of one day. */
export function spMetadata(
  { entityId, acsUrl, nameIdFormat = 'persistent' }: Pick<SamlProvider, 'entityId' | 'acsUrl' | 'nameIdFormat'>,
  validUntil: Date,
): string {
  const validity = `validUntil="${validUntil.toISOString()}" cacheDuration="P1D"`
  return `<?xml version="1.0" encoding="UTF-8"?>
<EntityDescriptor xmlns="${ns.metadata}" entityID="${escaped(entityId)}" ${validity}>
  <SPSSODescriptor protocolSupportEnumeration="${ns.protocol}" AuthnRequestsSigned="false" WantAssertionsSigned="true">
    <NameIDFormat>${nameIdFormats[nameIdFormat]}</NameIDFormat>
    <AssertionConsumerService index="0" isDefault="true" Binding="${samlBindings.post}" Location="${escaped(acsUrl)}"/>
  </SPSSODescriptor>
</EntityDescriptor>
`
}
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
