import { createHash } from 'node:crypto'
import {
  certificateInfo,
  createCertificateRequest,
  createCrl,
  createProof,
  createRootCertificate,
  decodeCompact,
  decodeJws,
  encodePem,
  generateKey,
  generateLicenseKey,
  importPublic,
  importTufKey,
  issueDeviceCredential,
  keyIdentifier,
  mintSerial,
  openCertificate,
  openCheckpoint,
  openKek,
  parsePublicJwk,
  peekCheckpoint,
  peekDeviceCredential,
  peekLicense,
  readCertificateRequest,
  readCrl,
  readLicenseKeys,
  readOcspRequest,
  readSpc,
  seal,
  signCheckpoint,
  signGeneralJws,
  signJws,
  signLicense,
  softwareSigner,
  tufKeyOf,
  unseal,
  verifyChain,
  verifyDeviceCredential,
  verifyGeneralJws,
  verifyJws,
  verifyLicense,
  verifyProof,
} from '@holdfast/crypto'
import { hierarchy, hour, now } from '@holdfast/crypto/test/certificates'
import { ocspRequest } from '../support/clients/ocsp-client.ts'
import { mutantsOfBytes, mutantsOfJson, mutantsOfText } from './mutants.ts'

/** A function that parses foreign input, a valid input, and the only errors that it may throw. */
export type Parser = {
  name: string
  mutants: (count: number) => Iterable<unknown>
  read: (mutant: never) => unknown
  valid: unknown
  refuses: readonly string[]
}
type Given = { refuses?: readonly string[] }

export const ofText = (name: string, valid: string, read: (text: string) => unknown, { refuses = [] }: Given = {}) => ({
  name,
  valid,
  mutants: (count: number) => mutantsOfText(valid, count),
  read,
  refuses,
})
export const ofBytes = (
  name: string,
  valid: Uint8Array,
  read: (b: Buffer) => unknown,
  { refuses = [] }: Given = {},
) => ({
  name,
  valid,
  mutants: (count: number) => mutantsOfBytes(valid, count),
  read,
  refuses,
})
export const ofJson = (name: string, valid: unknown, read: (v: never) => unknown, { refuses = [] }: Given = {}) => ({
  name,
  valid,
  mutants: (count: number) => mutantsOfJson(valid, count),
  read,
  refuses,
})
/** A text of JSON, both by its characters and by its parts. */
export const ofJsonText = (name: string, valid: unknown, read: (text: string) => unknown, given: Given = {}) => [
  ofText(name, JSON.stringify(valid), read, given),
  ofJson(`${name}, by its parts`, valid, (v) => read(JSON.stringify(v) ?? ''), given),
]

const crypto = { refuses: ['CryptoError'] }
const derOf = (pem: string) => Buffer.from(pem.split('-----')[2] ?? '', 'base64')

/** Everything of `@holdfast/crypto` that reads bytes of others. */
export async function parsersOfCrypto(): Promise<Parser[]> {
  const tree = await hierarchy()
  const spc = await tree.issue()
  const { privateJwk, publicJwk, kid } = generateKey('ES256')
  const signer = softwareSigner('credential', privateJwk)
  const key = { publicKey: importPublic(publicJwk), alg: 'ES256' } as const
  const csr = await createCertificateRequest(signer, 'a device')
  const crl = await createCrl(tree.issuing.signer, tree.issuing.pem, {
    number: 1n,
    thisUpdate: now,
    nextUpdate: new Date(now.getTime() + hour),
    revoked: [{ serial: '0a'.repeat(16), revokedAt: now, reason: 'keyCompromise' }],
  })
  const root = await createRootCertificate(tree.root.signer, {
    tenantId: 'tnt_01h455vb4pex5vsknk084sn02q',
    serial: mintSerial(),
    notBefore: now,
    notAfter: new Date(now.getTime() + hour),
  })
  const at = Math.floor(now.getTime() / 1000)
  const claims = {
    iss: 'https://a.test',
    aud: ['https://a.test'],
    sub: 'dev_1',
    jti: 'one',
    tid: 'tnt_1',
    gen: 1,
    iat: at,
    nbf: at,
    exp: at + 3600,
    enr: 'token',
    cnf: { jkt: kid },
    addresses: ['100.64.0.1'],
  }
  const credential = await issueDeviceCredential(signer, claims as never)
  const jws = await signJws(signer, 'x+jwt', { a: 1 })
  const general = await signGeneralJws([signer], 'x+jws', { a: 1 })
  const proof = createProof(privateJwk, { method: 'GET', url: 'https://a.test/x', accessToken: 'token', now })
  const license = generateLicenseKey()
  const licensed = {
    iss: 'holdfast',
    sub: 'customer',
    jti: 'one',
    iat: at,
    nbf: at,
    exp: at + 3600,
    grace_days: 1,
    edition: 'enterprise',
    features: ['siem'],
    limits: { users: 5, devices: null },
  }
  const file = signLicense(licensed, license.privateKey)
  const licenseKeys = readLicenseKeys(license.publicKey)
  const audit = softwareSigner('audit-checkpoint', generateKey('Ed25519').privateJwk)
  const note = await signCheckpoint({ origin: 'holdfast/tnt_1', size: 7, root: Buffer.alloc(32, 1) }, audit)
  const kek = openKek(createHash('sha256').update('kek').digest())
  const sealed = await seal(kek, 'context', Buffer.from('secret'))
  const tuf = tufKeyOf(generateKey('Ed25519').publicJwk)
  const lookup = { typ: 'x+jwt', key: () => key }
  const answers = { method: 'GET', url: 'https://a.test/x', accessToken: 'token', now, jkt: kid }

  return [
    ofBytes('certificateInfo', derOf(spc.pem), (b) => certificateInfo(b), crypto),
    ofText('certificateInfo of PEM', spc.pem, certificateInfo, crypto),
    ofBytes('certificateInfo of a root', derOf(root.pem), (b) => certificateInfo(encodePem('CERTIFICATE', b)), crypto),
    ofBytes('openCertificate', derOf(root.pem), (b) => openCertificate(b).validToDate.toISOString(), crypto),
    ofBytes('readSpc', derOf(spc.pem), (b) => readSpc(b).notAfter.toISOString(), crypto),
    ofText('readSpc of PEM', spc.pem, (text) => readSpc(text), crypto),
    ofBytes('keyIdentifier', derOf(tree.issuing.pem), keyIdentifier, crypto),
    ...(['leaf', 'intermediate', 'anchor'] as const).map((part) =>
      ofBytes(
        `verifyChain, the ${part}`,
        derOf({ leaf: spc, intermediate: tree.issuing, anchor: tree.root }[part].pem),
        (b) =>
          verifyChain(part === 'leaf' ? b : spc.pem, {
            intermediates: [part === 'intermediate' ? b : tree.issuing.pem],
            anchors: [part === 'anchor' ? b : tree.root.pem],
            at: now,
          }),
        crypto,
      ),
    ),
    ofText('readCertificateRequest', csr, readCertificateRequest, crypto),
    ofBytes('readCertificateRequest of DER', derOf(csr), (b) => readCertificateRequest(b.toString('base64')), crypto),
    ofBytes('readCrl', crl, (b) => readCrl(b, tree.issuing.pem), crypto),
    ofBytes('readOcspRequest', ocspRequest(tree.issuing.pem, ['0101'], Buffer.alloc(16)), readOcspRequest, crypto),
    ofText('decodeCompact', jws, decodeCompact, crypto),
    ofText('decodeJws', jws, decodeJws, crypto),
    ofText('verifyJws', jws, (text) => verifyJws(text, lookup), crypto),
    ofJson('verifyGeneralJws', general, (v) => verifyGeneralJws(v, { ...lookup, typ: 'x+jws' }), crypto),
    ofText('peekDeviceCredential', credential, peekDeviceCredential, crypto),
    ofText(
      'verifyDeviceCredential',
      credential,
      (text) => verifyDeviceCredential(text, key, { issuer: 'https://a.test', now }),
      crypto,
    ),
    ofText('verifyProof', proof, (proofs) => verifyProof({ ...answers, proofs }), crypto),
    ofJson('parsePublicJwk', publicJwk, parsePublicJwk, crypto),
    ofJson('importPublic', publicJwk, importPublic, crypto),
    ofText('peekLicense', file, peekLicense, { refuses: ['LicenseError'] }),
    ofText('verifyLicense', file, (text) => verifyLicense(text, licenseKeys), { refuses: ['LicenseError'] }),
    ofText('readLicenseKeys', license.publicKey, readLicenseKeys, { refuses: ['LicenseError'] }),
    ofText('peekCheckpoint', note, peekCheckpoint, crypto),
    ofText('openCheckpoint', note, (text) => openCheckpoint(text, [audit.publicJwk]), crypto),
    ofText('unseal', sealed, (text) => unseal(kek, 'context', text), crypto),
    ofText('importTufKey', tuf.keyval.public, (text) => importTufKey({ ...tuf, keyval: { public: text } })),
  ] as Parser[]
}

/** Each parser that threw something else than its own error, with the first mutant that did it. */
export async function brokenParsers(parsers: readonly Parser[], count: number): Promise<string[]> {
  const broken: string[] = []
  for (const { name, mutants, read, refuses } of parsers) {
    for (const mutant of mutants(count)) {
      try {
        await read(mutant as never)
      } catch (e) {
        if (e instanceof Error && refuses.includes(e.constructor.name)) continue
        const shown = mutant instanceof Uint8Array ? Buffer.from(mutant).toString('base64') : JSON.stringify(mutant)
        broken.push(
          `${name}: ${String(e)} for ${shown?.slice(0, 400)} ${e instanceof Error ? e.stack?.split('\n')[1] : ''}`,
        )
        break
      }
    }
  }
  return broken
}

const compact = /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/
/** Other spellings of the same parts; a lenient base64url decoder would accept them. */
const spellings: Record<string, (part: string) => string> = {
  padded: (part) => `${part}${'='.repeat((4 - (part.length % 4)) % 4 || 4)}`,
  'with a line break': (part) => `${part.slice(0, 4)}\r\n${part.slice(4)}`,
  'with a blank': (part) => `${part.slice(0, 4)} ${part.slice(4)}`,
  'with a character of no alphabet': (part) => `${part.slice(0, 4)}!${part.slice(4)}`,
  'in the other alphabet': (part) => part.replaceAll('-', '+').replaceAll('_', '/'),
}

/** Returns the parsers of a compact JWS that refuse the valid one, or accept another spelling of a part. */
export async function lenientParsers(parsers: readonly Parser[]): Promise<string[]> {
  const reads = async ({ read, refuses }: Parser, text: string) => {
    try {
      await read(text as never)
      return true
    } catch (e) {
      if (e instanceof Error && refuses.includes(e.constructor.name)) return false
      throw e
    }
  }
  const lenient: string[] = []
  for (const parser of parsers) {
    const { name, valid } = parser
    // A function that peeks verifies nothing and ignores the signature.
    if (typeof valid !== 'string' || !compact.test(valid) || name.startsWith('peek')) continue
    if (!(await reads(parser, valid))) lenient.push(`${name} does not read what is valid`)
    for (const [what, spell] of Object.entries(spellings))
      for (const place of [0, 1, 2]) {
        const parts: string[] = valid.split('.')
        parts[place] = spell(parts[place] ?? '')
        const text = parts.join('.')
        if (text !== valid && (await reads(parser, text))) lenient.push(`${name}: part ${place} ${what}`)
      }
  }
  return lenient
}
