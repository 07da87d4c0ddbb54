import { createCertificateRequest, generateKey, type SigningAlg, softwareSigner } from '@holdfast/crypto'

/** A certificate request for a new key. */
export const newCsr = (alg: SigningAlg = 'ES256'): Promise<string> => csrFor(generateKey(alg).privateJwk)
export const csrFor = (privateJwk: ReturnType<typeof generateKey>['privateJwk']): Promise<string> =>
  createCertificateRequest(softwareSigner('credential', privateJwk), 'of a test')
