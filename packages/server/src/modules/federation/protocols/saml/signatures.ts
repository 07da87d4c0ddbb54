import { constants, verify } from 'node:crypto'
import { FederationError } from '../proven-identity.ts'
import { elementText, everyElement, onlyChild } from './elements.ts'
import { digestMethods, envelopedSignature, exclusiveCanonical, ns, signatureMethods } from './names.ts'
import type { XmlElement } from './xml.ts'

/** Allowed parents of a signature: it stands directly in the element that it signs, once. */
type Signed = { response: XmlElement; assertion: XmlElement }

/**
 * Judges the form of the signatures before anything is verified. A signature must stand in its place, cover just that
 * element, use accepted algorithms, and contain nothing that could be mistaken for another part. The library decides
 * whether a signature is valid and which bytes it covers. Returns the signatures.
 */
export function judgeSignatures({ response, assertion }: Signed, signedResponse: boolean): XmlElement[] {
  const ids = new Set<string>()
  let signatures = 0
  for (const element of everyElement(response)) {
    for (const name of ['ID', 'Id', 'id']) {
      const id = element.attributes.get(name)
      if (id === undefined) continue
      if (ids.has(id)) refuse('Two elements of the response have the same ID.')
      ids.add(id)
    }
    if (isSignature(element)) signatures++
  }
  const own = response.children.filter(isSignature)
  const ofAssertion = assertion.children.filter(isSignature)
  if (signatures === 0) refuse('The response contains no signature.')
  if (own.length > 1 || ofAssertion.length > 1 || own.length + ofAssertion.length !== signatures)
    refuse('The response has a signature at an unexpected position.')
  if (signedResponse && own.length === 0) refuse('The response itself is not signed.')
  for (const signature of own) judge(signature, response)
  for (const signature of ofAssertion) judge(signature, assertion)
  return [...own, ...ofAssertion]
}

const isSignature = ({ namespace, name }: XmlElement) => name === 'Signature' && namespace === ns.signature

function judge(signature: XmlElement, signed: XmlElement) {
  const parts = new Map<string, XmlElement[]>()
  for (const element of everyElement(signature)) parts.set(element.name, [...(parts.get(element.name) ?? []), element])
  // Libraries look for these by local name only, anywhere in the signature.
  const only = (name: string): XmlElement => {
    const found = parts.get(name) ?? []
    return found.length === 1 && found[0]!.namespace === ns.signature
      ? found[0]!
      : refuse('A signature does not have the form that SAML requires.')
  }
  const info = only('SignedInfo')
  const digest = only('DigestMethod')
  const target = only('Reference')
  only('SignatureValue')
  only('DigestValue')
  const isInside =
    signature.children.includes(info) && info.children.includes(target) && target.children.includes(digest)
  if (!isInside || parts.has('Object') || parts.has('Manifest'))
    refuse('A signature does not have the form that SAML requires.')
  const id = signed.attributes.get('ID')
  if (!id || target.attributes.get('URI') !== `#${id}`) refuse('A signature does not cover its parent element.')
  const algorithm = (element: XmlElement) => element.attributes.get('Algorithm') ?? ''
  const methods = [only('SignatureMethod')].filter((method) => info.children.includes(method)).map(algorithm)
  if (methods.some((method) => /#ecdsa-/.test(method)))
    refuseAlgorithm('The provider signs with ECDSA, which is not supported: configure it to sign with RSA and SHA-256.')
  if (methods.length === 0 || !methods.every((method) => signatureMethods.includes(method)))
    refuseAlgorithm(
      'The provider signs with an algorithm that is not supported: configure it to sign with RSA and SHA-256.',
    )
  if (!digestMethods.includes(algorithm(digest)))
    refuseAlgorithm('The provider uses a digest algorithm that is not supported: configure it to use SHA-256.')
  const transforms = (parts.get('Transform') ?? []).map(algorithm)
  const isCanonical = algorithm(only('CanonicalizationMethod')) === exclusiveCanonical
  // The library ignores parameters of the canonicalization in the signed bytes.
  if (only('CanonicalizationMethod').children.length > 0)
    refuseAlgorithm('A signature uses an XML canonicalization that is not supported.')
  const isUsual = transforms.every((transform) => [envelopedSignature, exclusiveCanonical].includes(transform))
  if (!isCanonical || !isUsual || new Set(transforms).size !== 2 || transforms.length !== 2)
    refuseAlgorithm('A signature uses an XML canonicalization that is not supported.')
}

function refuse(message: string): never {
  throw new FederationError('signature', message)
}
function refuseAlgorithm(message: string): never {
  throw new FederationError('algorithm', message)
}

/**
 * Returns the certificates whose keys made these signatures. Each signature must be of the provider. This check costs
 * microseconds. For some documents the library needs seconds to find the covered bytes, so only a response with a valid
 * signature of the provider reaches it.
 */
export function signersOf(signatures: readonly XmlElement[], certificates: readonly string[]): string[] {
  const signers = signatures.map((signature) => {
    const info = onlyChild(signature, ns.signature, 'SignedInfo')
    const method = onlyChild(info, ns.signature, 'SignatureMethod')?.attributes.get('Algorithm') ?? ''
    const value = Buffer.from(elementText(onlyChild(signature, ns.signature, 'SignatureValue')) ?? '', 'base64')
    const bytes = Buffer.from(info ? canonical(info, new Map([['', '']])) : '')
    const digest = method.endsWith('sha512') ? 'sha512' : 'sha256'
    const padding = method.endsWith('MGF1')
      ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
      : { padding: constants.RSA_PKCS1_PADDING }
    return certificates.find((key) => verify(digest, bytes, { key, ...padding }, value))
  })
  const found = signers.filter((signer) => signer !== undefined)
  if (found.length === 0 || found.length < signers.length)
    throw new FederationError('signature', 'The response is not signed with a key of the identity provider.')
  return [...new Set(found)]
}

/** Exclusive XML canonicalization of the content of a SignedInfo, whose attributes have no namespace. */
function canonical(element: XmlElement, rendered: ReadonlyMap<string, string>): string {
  const { prefix, namespace } = element
  const isNew = rendered.get(prefix) !== namespace
  const within = isNew ? new Map(rendered).set(prefix, namespace) : rendered
  const name = prefix === '' ? element.name : `${prefix}:${element.name}`
  const declaration = isNew ? ` xmlns${prefix && `:${prefix}`}="${inAttribute(namespace)}"` : ''
  const attributes = [...element.attributes].sort(([a], [b]) => (a < b ? -1 : 1))
  const written = attributes.map(([key, value]) => ` ${key}="${inAttribute(value)}"`).join('')
  const content = element.content.map((part) => (typeof part === 'string' ? inText(part) : canonical(part, within)))
  return `<${name}${declaration}${written}>${content.join('')}</${name}>`
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#x9;',
  '\n': '&#xA;',
  '\r': '&#xD;',
}
const inAttribute = (text: string) => text.replace(/[&<"\t\n\r]/g, (character) => escapes[character]!)
const inText = (text: string) => text.replace(/[&<>\r]/g, (character) => escapes[character]!)
