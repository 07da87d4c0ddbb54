import {
  createIssuingCertificate,
  createRootCertificate,
  type GeneratedKey,
  generateKey,
  importPublic,
  type Kek,
  mintSerial,
  type PrivateJwk,
  type PublicJwk,
  type Purpose,
  parsePublicJwk,
  type Signer,
  type SigningAlg,
  seal,
  softwareSigner,
  unseal,
  type VerificationKey,
} from '@holdfast/crypto'
import type { TenantId } from '../../kernel/actor.ts'
import { encodeId, newUuid } from '../../kernel/ids.ts'
import { day } from '../../kernel/time.ts'
import type { NewKey, usableKeys } from './trust.queries.ts'

/** The keys that a tenant is born with; other purposes get theirs when they are first needed (`makeKey`). */
const firstKeys = [
  ['credential', 'ES256'],
  ['policy', 'ES256'],
  ['gateway-policy', 'ES256'],
  ['trust-set', 'ES256'],
  ['ca-root', 'ES384'],
  ['ca-issuing', 'ES256'],
] as const satisfies readonly (readonly [Purpose, SigningAlg])[]

const sealContext = (kid: string) => `signing_keys/${kid}/private_jwe`

/** New keys and the two certificates of the tenant's own hierarchy: root (10 years), issuing CA (1 year). */
export async function makeFirstKeys(tenant: TenantId, kek: Kek, now: Date): Promise<NewKey[]> {
  const made = firstKeys.map(([purpose, alg]) => ({ purpose, alg, ...generateKey(alg) }))
  const root = softwareSigner('ca-root', made.find((k) => k.purpose === 'ca-root')!.privateJwk)
  const issuingJwk = made.find((k) => k.purpose === 'ca-issuing')!.publicJwk
  const fields = { tenantId: encodeId('tenant', tenant), notBefore: new Date(now.getTime() - 300_000) }
  const rootCertificate = await createRootCertificate(root, {
    ...fields,
    serial: mintSerial(),
    notAfter: new Date(now.getTime() + 3650 * day),
  })
  const issuingCertificate = await createIssuingCertificate(root, rootCertificate.der, issuingJwk, {
    ...fields,
    serial: mintSerial(),
    notAfter: new Date(now.getTime() + 365 * day),
  })
  const certificates: Partial<Record<Purpose, string>> = {
    'ca-root': rootCertificate.pem,
    'ca-issuing': issuingCertificate.pem,
  }
  return Promise.all(made.map((key) => sealedKey(kek, key, certificates[key.purpose] ?? null)))
}

/** A key that is made when it is first needed. */
export const makeKey = (purpose: Purpose, kek: Kek): Promise<NewKey> =>
  sealedKey(kek, { purpose, alg: 'ES256', ...generateKey('ES256') }, null)

async function sealedKey(
  kek: Kek,
  { purpose, alg, kid, publicJwk, privateJwk }: GeneratedKey & { purpose: Purpose; alg: SigningAlg },
  certificate: string | null,
): Promise<NewKey> {
  const private_jwe = await seal(kek, sealContext(kid), Buffer.from(JSON.stringify(privateJwk)))
  return { signer_id: newUuid(), kid, purpose, alg, public_jwk: publicJwk, private_jwe, certificate }
}

export type Keyring = {
  signers: ReadonlyMap<string, Signer>
  verifiers: ReadonlyMap<string, VerificationKey & { purpose: string; jwk: PublicJwk }>
  rows: Awaited<ReturnType<typeof usableKeys>>
}

/** Opens the keys of a tenant. Throws when one was sealed under another master key. */
export async function openKeyring(kek: Kek, rows: Keyring['rows']): Promise<Keyring> {
  const signers = new Map<string, Signer>()
  const verifiers = new Map<string, VerificationKey & { purpose: string; jwk: PublicJwk }>()
  for (const row of rows) {
    const jwk = parsePublicJwk(row.public_jwk)
    verifiers.set(row.kid, { publicKey: importPublic(jwk), alg: row.alg as SigningAlg, purpose: row.purpose, jwk })
    if (row.state !== 'active') continue
    const privateJwk = JSON.parse((await unseal(kek, sealContext(row.kid), row.private_jwe)).toString()) as PrivateJwk
    signers.set(row.purpose, softwareSigner(row.purpose as Purpose, privateJwk))
  }
  return { signers, verifiers, rows }
}
