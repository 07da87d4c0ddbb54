import { constants, verify } from 'node:crypto'
import { FederationError } from '../../enrollment/proven.ts'
import { elementText, onlyChild } from './elements.ts'
import { ns } from './names.ts'
import type { XmlElement } from './xml.ts'

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
