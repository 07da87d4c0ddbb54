import type { SamlConfig } from '@node-saml/node-saml'
import { FederationError } from '../proven-identity.ts'
import { type ExpectedAssertion, judgeAssertion, type VerifiedAssertion } from './assertion.ts'
import { nameIdFormats } from './names.ts'
import { maxAgeMs, type SamlProvider, skewMs } from './provider.ts'

/** The library's request cache is replaced by one row of the caller, which is used up before any verification. */
const noneKept = {
  saveAsync: () => Promise.resolve(null),
  getAsync: (): Promise<string | null> => Promise.resolve(null),
  removeAsync: () => Promise.resolve(null),
}
/** The age of the request was checked with its row. */
const neverOld = '9999-12-31T23:59:59.999Z'

const optionsFor = (provider: SamlProvider, certificates: readonly string[]): SamlConfig => ({
  issuer: provider.entityId,
  audience: provider.entityId,
  callbackUrl: provider.acsUrl,
  entryPoint: provider.ssoUrl,
  idpCert: [...certificates],
  identifierFormat: nameIdFormats[provider.nameIdFormat ?? 'persistent'],
  // The provider chooses how a person authenticates.
  disableRequestedAuthnContext: true,
  wantAuthnResponseSigned: provider.signedResponse,
  // One valid signature is enough, and only the content that it covers is read.
  wantAssertionsSigned: false,
  signatureAlgorithm: 'sha256',
  digestAlgorithm: 'sha256',
  cacheProvider: noneKept,
  acceptedClockSkewMs: skewMs,
  maxAssertionAgeMs: maxAgeMs,
  requestIdExpirationPeriodMs: 600_000,
})

/** Loads the library on demand: it takes 20 MB that only deployments with SAML need. */
async function load() {
  // Default import: in a bundle, CommonJS modules have no named exports.
  const { SAML, ValidateInResponseTo } = (await import('@node-saml/node-saml')).default
  /** The library with our clock. It calls our judgement of an assertion as soon as the signature is verified. */
  return class extends SAML {
    readonly #now: Date
    readonly #judge: (assertion: string) => void
    constructor(options: SamlConfig, now: Date, judge: (assertion: string) => void) {
      super({ ...options, validateInResponseTo: ValidateInResponseTo.always })
      this.#now = now
      this.#judge = judge
    }

    protected override async generateAuthorizeRequestAsync(isPassive: boolean, isPost: boolean): Promise<string> {
      const request = await super.generateAuthorizeRequestAsync(isPassive, isPost)
      return request.replace(/ IssueInstant="[^"]*"/, ` IssueInstant="${this.#now.toISOString()}"`)
    }

    protected override processValidlySignedAssertionAsync(assertion: string, response: string, inResponseTo: string) {
      this.#judge(assertion)
      return super.processValidlySignedAssertionAsync(assertion, response, inResponseTo)
    }

    protected override checkTimestampsValidityError(_: number, begin: string, end: string, latest?: number) {
      return super.checkTimestampsValidityError(this.#now.getTime(), begin, end, latest)
    }
  }
}
let loaded: ReturnType<typeof load> | undefined
const library = () => {
  loaded ??= load()
  return loaded
}

/** Returns the address of the sign-in with this request. */
export async function requestUrl(
  provider: SamlProvider,
  certificates: readonly string[],
  request: { id: string; relayState: string; forceAuthn: boolean; now: Date },
): Promise<string> {
  const options = { generateUniqueId: () => request.id, forceAuthn: request.forceAuthn }
  const Library = await library()
  const asking = new Library({ ...optionsFor(provider, certificates), ...options }, request.now, () => {})
  return await asking.getAuthorizeUrlAsync(request.relayState, undefined, {})
}

/** Verifies the signatures of a response and judges the assertion that they cover. */
export async function verifyResponse(
  xml: string,
  provider: SamlProvider,
  certificates: readonly string[],
  expected: ExpectedAssertion,
): Promise<VerifiedAssertion> {
  const getAsync = (id: string) => Promise.resolve(id === expected.requestId ? neverOld : null)
  const options = { ...optionsFor(provider, certificates), cacheProvider: { ...noneKept, getAsync } }
  let judged: { xml: string; found: VerifiedAssertion } | undefined
  const judge = (assertion: string) => {
    judged = { xml: assertion, found: judgeAssertion(assertion, provider, expected) }
  }
  const posted = { SAMLResponse: Buffer.from(xml).toString('base64') }
  const Library = await library()
  try {
    const { profile } = await new Library(options, expected.now, judge).validatePostResponseAsync(posted)
    if (judged && profile?.getAssertionXml?.() === judged.xml) return judged.found
  } catch (e) {
    if (e instanceof FederationError) throw e
  }
  throw new FederationError('signature', 'The response has no valid signature of the identity provider.')
}
