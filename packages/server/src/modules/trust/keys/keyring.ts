import { X509Certificate } from 'node:crypto'
import {
  importPublic,
  type PublicJwk,
  type Purpose,
  parsePublicJwk,
  type Signer,
  type SigningAlg,
  type VerificationKey,
} from '@holdfast/crypto'
import type { CrossRow, SigningKeyRow } from './keys.queries.ts'
import { type KeyProviders, openKey } from './provider.ts'

/** A certification authority of the tenant: a root, or an issuing CA. */
export type Authority = {
  signerId: string
  state: 'active' | 'retiring'
  /** PEM. */
  certificate: string
  x509: X509Certificate
  signer: Signer
}
type Verifier = VerificationKey & { purpose: string; jwk: PublicJwk }

/** The keys of a tenant whose signatures are valid, with signers for those that still sign. */
export type Keyring = {
  /** The active signer for each purpose. */
  signers: ReadonlyMap<string, Signer>
  /** Signers of trust sets, the active one first. A client that knows any of them accepts the set. */
  trustSigners: readonly Signer[]
  verifiers: ReadonlyMap<string, Verifier>
  /** The active one first, then from the youngest to the oldest. */
  roots: readonly Authority[]
  issuing: readonly Authority[]
  /** Roots certified by other valid roots, PEM. */
  crosses: readonly { issuerId: string; subjectId: string; certificate: string }[]
  rows: readonly SigningKeyRow[]
}

/**
 * Purposes whose keys still sign while they retire: CRLs of their certificates, and sets for clients that know no
 * younger key.
 */
const signsWhileRetiring = new Set(['trust-set', 'ca-root', 'ca-issuing'])

export async function openKeyring(
  providers: KeyProviders,
  rows: readonly SigningKeyRow[],
  crosses: readonly CrossRow[],
): Promise<Keyring> {
  const opened = await Promise.all(
    rows.map(async (row) => {
      const purpose = row.purpose as Purpose
      const signs = row.state === 'active' || (row.state === 'retiring' && signsWhileRetiring.has(purpose))
      const key = { kid: row.kid, purpose, publicJwk: parsePublicJwk(row.public_jwk), privateJwe: row.private_jwe }
      return { row, signer: signs ? await openKey(providers, row.provider, key) : undefined }
    }),
  )
  const activeFirst = opened
    .flatMap(({ row, signer }) => (signer ? [{ row, signer }] : []))
    .reverse()
    .sort((a, b) => Number(b.row.state === 'active') - Number(a.row.state === 'active'))
  const authorities = (purpose: Purpose): Authority[] =>
    activeFirst.flatMap(({ row: { signer_id, state, certificate, ...row }, signer }) =>
      row.purpose === purpose && certificate !== null
        ? [
            {
              signerId: signer_id,
              state: state as Authority['state'],
              certificate,
              x509: new X509Certificate(certificate),
              signer,
            },
          ]
        : [],
    )
  const roots = authorities('ca-root')
  const counts = (id: string) => roots.some((root) => root.signerId === id)
  return {
    signers: new Map(
      activeFirst.filter(({ row }) => row.state === 'active').map(({ row, signer }) => [row.purpose, signer]),
    ),
    trustSigners: activeFirst.filter(({ row }) => row.purpose === 'trust-set').map(({ signer }) => signer),
    verifiers: new Map(rows.map((row) => [row.kid, verifierOf(row)])),
    roots,
    issuing: authorities('ca-issuing'),
    crosses: crosses
      .map((c) => ({ issuerId: c.issuer_id, subjectId: c.subject_id, certificate: c.certificate }))
      .filter((c) => counts(c.issuerId) && counts(c.subjectId)),
    rows,
  }
}

function verifierOf(row: SigningKeyRow): Verifier {
  const jwk = parsePublicJwk(row.public_jwk)
  return { publicKey: importPublic(jwk), alg: row.alg as SigningAlg, purpose: row.purpose, jwk }
}

/** Returns the root that certified an issuing CA. */
export const rootOf = ({ roots }: Keyring, { x509 }: Authority): Authority | undefined =>
  roots.find((root) => x509.checkIssued(root.x509))

/**
 * Returns the certificates between those of an issuing CA and every anchor: its own certificate, then its root as
 * certified by the other roots.
 */
export function chainOf(keyring: Keyring, issuing: Authority): string[] {
  const root = rootOf(keyring, issuing)
  const crosses = keyring.crosses.filter((c) => c.subjectId === root?.signerId)
  return [issuing.certificate, ...crosses.map((c) => c.certificate)]
}
