import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { CryptoError } from '../../src/errors.ts'
import { publicSpki, type SigningAlg } from '../../src/jwk.ts'
import { generateKey, softwareSigner } from '../../src/signer.ts'
import { createIssuingCertificate, createRootCertificate, mintSerial } from '../../src/x509/ca.ts'
import { contextOf, element, integer, sequence } from '../../src/x509/der-write.ts'
import { buildName } from '../../src/x509/name.ts'
import { encodeSigned, sign } from '../../src/x509/signed.ts'
import { type SpcFields, type SpcIssuerOptions, spcIssuer } from '../../src/x509/spc-issue.ts'

export const tenantId = 'tnt_01h455vb4pex5vsknk084sn02q'
export const deviceId = 'dev_01h455vb4pex5vsknk084sn02q'
export const trustDomain = 'holdfast.example'
export const hour = 3_600_000
export const year = 365 * 24 * hour
/** The time in the tests of this folder, with a fraction that no certificate has. */
export const now = new Date('2026-06-01T12:00:00.789Z')
export const after = (ms: number) => new Date(now.getTime() + ms)

const caFields = (tenant: string, years: number) => ({
  tenantId: tenant,
  serial: mintSerial(),
  notBefore: after(-hour),
  notAfter: after(years * year),
})

export async function rootOf(tenant = tenantId) {
  const signer = softwareSigner('ca-root', generateKey('ES384').privateJwk)
  return { signer, ...(await createRootCertificate(signer, caFields(tenant, 10))) }
}

/** An issuing CA, under a root of its own unless one is given, and the SPCs that it issues. */
export async function hierarchy(
  options: Partial<SpcIssuerOptions> & { tenant?: string } = {},
  root = rootOf(options.tenant),
) {
  const above = await root
  const { tenant = tenantId, ...given } = options
  const signer = softwareSigner('ca-issuing', generateKey('ES256').privateJwk)
  const files = await createIssuingCertificate(above.signer, above.pem, signer.publicJwk, caFields(tenant, 1))
  const issuer = spcIssuer(signer, files.pem, { trustDomain, ...given })
  const issue = (changed: Partial<SpcFields> = {}) => issuer.issue({ ...spcFields(), ...changed })
  return { root: above, issuing: { signer, ...files }, issue }
}
export const spcFields = (alg: SigningAlg = 'ES256'): SpcFields => ({
  serial: mintSerial(),
  deviceId,
  publicJwk: generateKey(alg).publicJwk,
  notBefore: after(-300_000),
  notAfter: after(24 * hour),
})

/** Returns a PKCS#10 request for `spki`, signed with `key`. */
export async function requestOf({
  key = generateKey('ES256'),
  spki = publicSpki(key.publicJwk),
  attributes = [] as Buffer[],
} = {}): Promise<Buffer> {
  const info = sequence(integer(0), buildName('any', 'name'), spki, element(contextOf(0), ...attributes))
  return encodeSigned(await sign(softwareSigner('credential', key.privateJwk), info))
}

/** Asserts that a reader of untrusted bytes throws nothing but a CryptoError. */
export function orRefused<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof CryptoError) return undefined
    throw error
  }
}

/** Makes the same bytes with one of them changed. */
export const damaged = (bytes: Buffer) =>
  fc.tuple(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 })).map(([at, bits]) => {
    const other = Buffer.from(bytes)
    other[at]! ^= bits
    return other
  })

const opensslVersion = spawnSync('openssl', ['version'], { encoding: 'latin1' }).stdout ?? ''
/** Some systems have LibreSSL under that name, which prints other output. */
export const withoutOpenssl = /^OpenSSL [3-9]/.test(opensslVersion) ? false : 'OpenSSL 3 is not installed'
/**
 * Runs openssl in a folder with these files, which are removed afterwards. Output that is no text comes back as latin1.
 */
export function openssl(files: Record<string, string | Buffer>, ...args: readonly string[]) {
  const cwd = mkdtempSync(join(tmpdir(), 'holdfast-x509-'))
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(cwd, name), content)
    return spawnSync('openssl', args, { cwd, encoding: 'latin1', timeout: 60_000 })
  } finally {
    rmSync(cwd, { recursive: true })
  }
}
