import { FederationError } from '../../enrollment/proven.ts'
import { everyElement } from './elements.ts'
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
  if (signatures === 0) refuse('Nothing in the response is signed.')
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
  if (!id || target.attributes.get('URI') !== `#${id}`)
    refuse('A signature covers another element than its own parent.')
  const algorithm = (element: XmlElement) => element.attributes.get('Algorithm') ?? ''
  const methods = [only('SignatureMethod')].filter((method) => info.children.includes(method)).map(algorithm)
  if (methods.some((method) => /#ecdsa-/.test(method)))
    refuseAlgorithm('The provider signs with ECDSA, which is not supported: configure it to sign with RSA and SHA-256.')
  if (methods.length === 0 || !methods.every((method) => signatureMethods.includes(method)))
    refuseAlgorithm(
      'The provider signs with an algorithm that is not accepted: configure it to sign with RSA and SHA-256.',
    )
  if (!digestMethods.includes(algorithm(digest)))
    refuseAlgorithm('The provider signs a digest that is not accepted: configure it to use SHA-256.')
  const transforms = (parts.get('Transform') ?? []).map(algorithm)
  const isCanonical = algorithm(only('CanonicalizationMethod')) === exclusiveCanonical
  // The library ignores parameters of the canonicalization in the signed bytes.
  if (only('CanonicalizationMethod').children.length > 0)
    refuseAlgorithm('A signature uses a canonicalization of the XML that is not accepted.')
  const isUsual = transforms.every((transform) => [envelopedSignature, exclusiveCanonical].includes(transform))
  if (!isCanonical || !isUsual || new Set(transforms).size !== 2 || transforms.length !== 2)
    refuseAlgorithm('A signature uses a canonicalization of the XML that is not accepted.')
}

function refuse(message: string): never {
  throw new FederationError('signature', message)
}
function refuseAlgorithm(message: string): never {
  throw new FederationError('algorithm', message)
}
