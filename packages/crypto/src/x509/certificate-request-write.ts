import { type PublicJwk, publicSpki } from '../jwk.ts'
import { signBytes } from '../signature.ts'
import { generateKey, openPrivateKey, type Signer } from '../signer.ts'
import { contextOf, element, integer, sequence } from './der-write.ts'
import { commonName } from './name.ts'
import { encodePem } from './pem.ts'
import { encodeSigned, sign } from './signed.ts'

/** Creates a PKCS#10 request (RFC 2986) for this key, in PEM. Its subject is only informative; only the key is used. */
export async function createCertificateRequest(
  signer: Pick<Signer, 'alg' | 'publicJwk' | 'sign'>,
  subject: string,
): Promise<string> {
  const noAttributes = element(contextOf(0))
  const info = sequence(integer(0), sequence(commonName(subject)), publicSpki(signer.publicJwk), noAttributes)
  return encodePem('CERTIFICATE REQUEST', encodeSigned(await sign(signer, info)))
}

/** Creates a new P-256 key and a request for it. The private key is PKCS#8 PEM (RFC 5958), as TLS stacks read it. */
export async function createKeyAndRequest(
  subject: string,
): Promise<{ csr: string; publicJwk: PublicJwk; privateKey: string }> {
  const { publicJwk, privateJwk } = generateKey('ES256')
  const { privateKey, alg } = openPrivateKey(privateJwk)
  const signer = { alg, publicJwk, sign: async (bytes: Uint8Array) => signBytes(alg, privateKey, bytes) }
  return {
    csr: await createCertificateRequest(signer, subject),
    publicJwk,
    privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
  }
}
