import { FederationError } from '../proven-identity.ts'
import { elementText, everyElement, instantOf, onlyChild } from './elements.ts'
import { ns, statusSuccess } from './names.ts'
import { maxAgeMs, maxResponseLength, type SamlProvider, skewMs } from './provider.ts'
import { judgeSignatures } from './signatures.ts'
import { readXml, withoutDeclaration, type XmlElement } from './xml.ts'

/** Decodes the XML of a posted response. */
export function decodeResponse(posted: string): string {
  if (posted.length > maxResponseLength)
    throw new FederationError('token', `The response is longer than ${maxResponseLength} characters.`)
  const base64 = posted.replace(/[ \t\r\n]+/g, '')
  if (base64 === '' || base64.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64))
    throw new FederationError('token', 'The response is not base64.')
  try {
    return withoutDeclaration(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64')))
  } catch {
    throw new FederationError('token', 'The response is not UTF-8.')
  }
}

/**
 * Judges the response around its assertion, before any signature is verified. Only a signed response vouches for these
 * values, so they prove no person. They must be right all the same. Returns the signatures.
 */
export function judgeResponse(xml: string, provider: SamlProvider, requestId: string, now: Date): XmlElement[] {
  const response = readXml(xml)
  if (
    response.name !== 'Response' ||
    response.namespace !== ns.protocol ||
    response.attributes.get('Version') !== '2.0'
  )
    throw new FederationError('token', 'The response is not SAML 2.0.')
  judgeStatus(response)
  const assertion = onlyAssertion(response)
  const signatures = judgeSignatures({ response, assertion }, provider.signedResponse)

  const { attributes } = response
  const destination = attributes.get('Destination')
  const isSigned = onlyChild(response, ns.signature, 'Signature') !== undefined
  if (destination === undefined ? isSigned : destination !== provider.acsUrl)
    throw new FederationError('destination', 'The response is not meant for this address.')
  if (attributes.get('InResponseTo') !== requestId)
    throw new FederationError('state', 'The response does not belong to a request of this server.')
  const names = response.children.filter(({ name }) => name === 'Issuer')
  if (names.length > 1 || names.some((issuer) => elementText(issuer) !== provider.issuer))
    throw new FederationError('issuer', 'The response was issued by another identity provider.')
  const issued = instantOf(attributes.get('IssueInstant'))?.getTime()
  if (issued === undefined || issued > now.getTime() + skewMs || issued + maxAgeMs <= now.getTime() - skewMs)
    throw new FederationError(
      'time',
      'The response is too old, or dated in the future. Check the clocks of the provider and of this server.',
    )
  return signatures
}

function judgeStatus(response: XmlElement) {
  const code = onlyChild(onlyChild(response, ns.protocol, 'Status'), ns.protocol, 'StatusCode')
  const value = code?.attributes.get('Value') ?? ''
  if (value === statusSuccess) return
  const [statusName = 'no status'] = /[A-Za-z]{1,40}$/.exec(value) ?? []
  throw new FederationError('denied', `The identity provider refused the sign-in: it answered ${statusName}.`)
}

/** Returns the assertion. The response must contain no second one anywhere, and no encrypted one. */
function onlyAssertion(response: XmlElement): XmlElement {
  const assertions = [...everyElement(response)].filter(({ name }) => /^(Encrypted)?Assertion$/.test(name))
  if (assertions.some(({ name }) => name === 'EncryptedAssertion'))
    throw new FederationError(
      'encrypted',
      'The assertion is encrypted, which is not supported: configure the provider to sign only.',
    )
  const assertion = onlyChild(response, ns.assertion, 'Assertion')
  if (!assertion || assertions.length !== 1)
    throw new FederationError('token', 'The response must have exactly one assertion, directly below the root.')
  return assertion
}
