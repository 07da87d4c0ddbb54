import { storable } from '../../../../kernel/text.ts'
import { FederationError, type ProvenIdentity } from '../proven-identity.ts'
import { samlClaimsOf } from './attributes.ts'
import { childrenOf, elementText, instantOf, onlyChild } from './elements.ts'
import { bearer, entityFormat, nameIdFormats, ns } from './names.ts'
import { maxAgeMs, type SamlProvider, skewMs } from './provider.ts'
import { readXml, type XmlElement } from './xml.ts'

/** Expected values: the request that is answered, and the maximum age of the person's sign-in. */
export type ExpectedAssertion = { requestId: string; maxAgeSeconds: number | undefined; now: Date }
export type VerifiedAssertion = ProvenIdentity & {
  assertionId: string
  /** End of the time in which the assertion must be remembered as used. */
  goodUntil: Date
}

const maxId = 256
const maxSubject = 255
const knownConditions = ['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction']

/** Judges an assertion. The provider has signed exactly these bytes. */
export function judgeAssertion(xml: string, provider: SamlProvider, expected: ExpectedAssertion): VerifiedAssertion {
  const assertion = readXml(xml)
  const { name, namespace, attributes } = assertion
  const assertionId = attributes.get('ID') ?? ''
  const isOurKind = name === 'Assertion' && namespace === ns.assertion && attributes.get('Version') === '2.0'
  if (!isOurKind || assertionId === '' || storable(assertionId, maxId) !== assertionId)
    throw new FederationError('token', 'The assertion is not SAML 2.0.')

  const issuer = onlyChild(assertion, ns.assertion, 'Issuer')
  if (elementText(issuer) !== provider.issuer || ![undefined, entityFormat].includes(issuer?.attributes.get('Format')))
    throw new FederationError('issuer', 'The assertion was issued by another identity provider.')

  const clock = clockOf(expected.now)
  const issued = instantOf(attributes.get('IssueInstant'))
  if (!issued || clock.isBefore(issued) || clock.isPast(new Date(issued.getTime() + maxAgeMs)))
    throw new FederationError(
      'time',
      'The assertion is too old, or dated in the future. Check the clocks of the provider and of this server.',
    )
  const subject = onlyChild(assertion, ns.assertion, 'Subject')
  judgeConfirmation(subject, provider, expected.requestId, clock)
  judgeConditions(assertion, provider.entityId, clock)
  judgeSignIn(assertion, expected.maxAgeSeconds, clock)
  return {
    issuer: provider.issuer,
    subject: subjectOf(subject, provider),
    claims: samlClaimsOf(assertion),
    assertionId,
    goodUntil: new Date(issued.getTime() + maxAgeMs + skewMs),
  }
}

type Clock = ReturnType<typeof clockOf>
const clockOf = (now: Date) => ({
  now,
  /** True if a time has not begun yet, with the clock tolerance. */
  isBefore: (begin: Date): boolean => now.getTime() + skewMs < begin.getTime(),
  /** True if a time has ended, with the clock tolerance. */
  isPast: (end: Date): boolean => now.getTime() - skewMs >= end.getTime(),
})

/** Checks for a bearer confirmation for this address, this request and the current time. */
function judgeConfirmation(subject: XmlElement | undefined, provider: SamlProvider, requestId: string, clock: Clock) {
  const confirmations = subject ? childrenOf(subject, ns.assertion, 'SubjectConfirmation') : []
  const problems = confirmations
    .filter(({ attributes }) => attributes.get('Method') === bearer)
    .map((confirmation) => {
      const data = onlyChild(confirmation, ns.assertion, 'SubjectConfirmationData')?.attributes
      if (data?.get('Recipient') !== provider.acsUrl)
        return new FederationError('destination', 'The assertion is not meant for this address.')
      if (data.get('InResponseTo') !== requestId)
        return new FederationError('state', 'The assertion does not belong to a request of this server.')
      return problemOfTimes(data, clock, 'required')
    })
  const [first = new FederationError('subject', 'The assertion has no bearer confirmation of its subject.')] = problems
  if (!problems.includes(undefined)) throw first
}

function problemOfTimes(
  attributes: ReadonlyMap<string, string>,
  clock: Clock,
  end: 'required' | 'optional',
): FederationError | undefined {
  const [from, until] = [attributes.get('NotBefore'), attributes.get('NotOnOrAfter')]
  const [begin, ended] = [instantOf(from), instantOf(until)]
  const isReadable = (from === undefined || begin) && (until === undefined ? end === 'optional' : ended)
  if (isReadable && !(begin && clock.isBefore(begin)) && !(ended && clock.isPast(ended))) return undefined
  return new FederationError(
    'time',
    'The assertion is not valid yet, or has expired. Check the clocks of the provider and of this server.',
  )
}

/** Checks the conditions. An unknown condition cannot be met (SAML core, 2.5.1.1). */
function judgeConditions(assertion: XmlElement, entityId: string, clock: Clock) {
  const conditions = onlyChild(assertion, ns.assertion, 'Conditions')
  const isKnown = ({ namespace, name }: XmlElement) => namespace === ns.assertion && knownConditions.includes(name)
  if (!conditions?.children.every(isKnown))
    throw new FederationError('token', 'The assertion has no conditions, or an unknown condition.')
  const restrictions = childrenOf(conditions, ns.assertion, 'AudienceRestriction')
  const isForUs = (restriction: XmlElement) =>
    childrenOf(restriction, ns.assertion, 'Audience').some((audience) => elementText(audience) === entityId)
  if (restrictions.length === 0 || !restrictions.every(isForUs))
    throw new FederationError('audience', 'The assertion is meant for another application.')
  const problem = problemOfTimes(conditions.attributes, clock, 'optional')
  if (problem) throw problem
}

/** Checks that the person signed in, and that it was not too long ago if a maximum age was requested. */
function judgeSignIn(assertion: XmlElement, maxAgeSeconds: number | undefined, clock: Clock) {
  const signIns = childrenOf(assertion, ns.assertion, 'AuthnStatement')
  if (signIns.length === 0) throw new FederationError('token', 'The assertion contains no sign-in (AuthnStatement).')
  for (const { attributes } of signIns) {
    const at = instantOf(attributes.get('AuthnInstant'))
    const until = attributes.get('SessionNotOnOrAfter')
    const ends = instantOf(until)
    const isOver = until !== undefined && (!ends || clock.isPast(ends))
    if (!at || clock.isBefore(at) || isOver)
      throw new FederationError('time', 'The sign-in in the assertion has ended, or is dated in the future.')
    if (maxAgeSeconds !== undefined && clock.isPast(new Date(at.getTime() + maxAgeSeconds * 1000)))
      throw new FederationError('time', 'The sign-in of the user is too old.')
  }
}

/**
 * Returns the stable name of a person at the provider. A text that the database can store only in an altered form, or
 * that could be mistaken for another person's, is refused.
 */
function subjectOf(subject: XmlElement | undefined, provider: SamlProvider): string {
  const nameId = onlyChild(subject, ns.assertion, 'NameID')
  const text = elementText(nameId)
  if (!nameId || text === undefined)
    throw new FederationError('subject', 'The assertion must have exactly one NameID, in plain text.')
  const format = nameId.attributes.get('Format') ?? nameIdFormats.unspecified
  const requiredFormat = provider.nameIdFormat ?? 'persistent'
  if (format !== nameIdFormats[requiredFormat])
    throw new FederationError('subject', `The format of the NameID is not ${requiredFormat}.`)
  const qualifier = nameId.attributes.get('NameQualifier') ?? provider.issuer
  const spQualifier = nameId.attributes.get('SPNameQualifier') ?? provider.entityId
  if (qualifier !== provider.issuer || spQualifier !== provider.entityId)
    throw new FederationError('subject', 'The qualifiers of the NameID name another provider or application.')
  if (text === '' || text.trim() !== text || storable(text, maxSubject) !== text || /\p{Cc}|\p{Cf}/u.test(text))
    throw new FederationError(
      'subject',
      `The NameID is not a string of 1 to ${maxSubject} characters without spaces around it.`,
    )
  return text
}
