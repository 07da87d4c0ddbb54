import {
  certificateInfo,
  createCrossCertificate,
  createIssuingCertificate,
  createRootCertificate,
  mintSerial,
  type Signer,
} from '@holdfast/crypto'
import type { TenantId } from '../../../kernel/actor.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { day } from '../../../kernel/time.ts'
import { backdated } from '../lifetimes.ts'
import type { NewSigningKey } from './keys.queries.ts'
import { newKey } from './make.ts'
import type { KeyProvider } from './provider.ts'

/** Lifetimes in ms. An issuing CA ends no later than its root, and is replaced long before. */
const lifetime = { root: 3650 * day, issuing: 365 * day }
/** An issuing CA is replaced after two thirds of its lifetime. */
export const renewIssuingAfter = (lifetime.issuing * 2) / 3

/** A root with its key; `certificate` is PEM. */
type Root = { signer: Signer; certificate: string; key: NewSigningKey }

const termOf = (now: Date, lifetimeMs: number) => ({
  serial: mintSerial(),
  notBefore: new Date(now.getTime() - backdated),
  notAfter: new Date(now.getTime() + lifetimeMs),
})

async function makeRoot(provider: KeyProvider, tenant: TenantId, now: Date): Promise<Root> {
  const made = await provider.make('ca-root', 'ES384')
  const fields = { tenantId: encodeId('tenant', tenant), ...termOf(now, lifetime.root) }
  const { pem } = await createRootCertificate(made.signer, fields)
  const key = newKey(provider, { purpose: 'ca-root', alg: 'ES384', certificate: pem }, made)
  return { signer: made.signer, certificate: pem, key }
}

/** Makes an issuing CA under a root. It ends no later than the root. */
export async function makeIssuing(
  provider: KeyProvider,
  tenant: TenantId,
  root: { signer: Signer; certificate: string },
  now: Date,
): Promise<NewSigningKey> {
  const made = await provider.make('ca-issuing', 'ES256')
  const { serial, notBefore, notAfter } = termOf(now, lifetime.issuing)
  const rootEnds = new Date(certificateInfo(root.certificate).not_after)
  const { pem } = await createIssuingCertificate(root.signer, root.certificate, made.publicJwk, {
    tenantId: encodeId('tenant', tenant),
    serial,
    notBefore,
    notAfter: rootEnds < notAfter ? rootEnds : notAfter,
  })
  return newKey(provider, { purpose: 'ca-issuing', alg: 'ES256', certificate: pem }, made)
}

/** Makes the root (10 years) and the issuing CA (1 year) of a tenant's own hierarchy. */
export async function makeHierarchy(provider: KeyProvider, tenant: TenantId, now: Date) {
  const root = await makeRoot(provider, tenant, now)
  return { root, issuing: await makeIssuing(provider, tenant, root, now) }
}

/** Certifies a root by another root of the same tenant (RFC 4210 §4.4), until the earlier end of the two. */
export async function crossCertify(
  issuer: { signer: Signer; certificate: string },
  subject: { certificate: string },
  now: Date,
): Promise<{ certificate: string; notAfter: Date }> {
  const ends = [issuer, subject].map(({ certificate }) => Date.parse(certificateInfo(certificate).not_after))
  const notAfter = new Date(Math.min(...ends))
  const term = { serial: mintSerial(), notBefore: new Date(now.getTime() - backdated), notAfter }
  const { pem } = await createCrossCertificate(issuer.signer, issuer.certificate, subject.certificate, term)
  return { certificate: pem, notAfter }
}
