import { publicSpki } from '../jwk.ts'
import type { Signer } from '../signer.ts'
import { contextOf, element, integer, sequence } from './der-write.ts'
import { commonName } from './name.ts'
import { encodePem } from './pem.ts'
import { encodeSigned, sign } from './signed.ts'

/** A PKCS#10 request (RFC 2986) for this key, PEM. Its subject is for those who read it; only the key counts. */
export async function createCertificateRequest(
  signer: Pick<Signer, 'alg' | 'publicJwk' | 'sign'>,
  subject: string,
): Promise<string> {
  const noAttributes = element(contextOf(0))
  const info = sequence(integer(0), sequence(commonName(subject)), publicSpki(signer.publicJwk), noAttributes)
  return encodePem('CERTIFICATE REQUEST', encodeSigned(await sign(signer, info)))
}
