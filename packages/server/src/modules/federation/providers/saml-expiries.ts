import { X509Certificate } from 'node:crypto'
import { inBatches } from '../../../kernel/batches.ts'
import type { ExpiringObject, ExpirySource } from '../../../kernel/expiring-object.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { FederationDeps } from '../deps.ts'
import { certificateDate } from '../protocols/saml/certificates.ts'
import { idpOf } from './kinds.ts'
import { type SamlRow, selectSaml } from './providers.queries.ts'

/** Providers of a batch. Each may have several certificates, which are parsed. */
const batch = 500

/** Expiries of the certificates that SAML identity providers sign with, and of their metadata. */
export const createSamlExpiries = ({ db }: Pick<FederationDeps, 'db'>): ExpirySource =>
  async function* (tenant) {
    const batches = inBatches<SamlRow>(batch, (after, size) =>
      db.inTenant(tenant, (tx) => selectSaml(tx, tenant, after?.provider_id, size)),
    )
    for await (const rows of batches) yield rows.flatMap((row) => [...ofCertificates(row), ...ofMetadata(row)])
  }

/** Renewal of an expiry. Metadata with an address are read once an hour; a failed read renews nothing. */
const renewalOf = ({ saml, saml_checked_at, saml_problem }: SamlRow, end: Date): ExpiringObject['renewal'] => {
  if (saml?.idp) return 'by_hand'
  return saml_problem === null ? end : (saml_checked_at ?? end)
}

function ofCertificates(row: SamlRow): ExpiringObject[] {
  // A certificate that an earlier version accepted may begin or end on a date that does not exist.
  const certificates = (idpOf(row)?.certificates ?? []).flatMap((pem) => {
    const { validFrom, validTo } = new X509Certificate(pem)
    const end = certificateDate(validTo)
    return end ? [{ since: certificateDate(validFrom) ?? new Date(0), end }] : []
  })
  const last = Math.max(...certificates.map((c) => c.end.getTime()))
  return certificates.map(({ since, end }) => ({
    type: 'identity_provider_certificate',
    ...providerRef(row),
    since,
    expiresAt: end,
    renewal: end.getTime() < last ? 'not_needed' : renewalOf(row, end),
  }))
}

function ofMetadata(row: SamlRow): ExpiringObject[] {
  const { valid_until, read_at } = row.saml_found ?? {}
  if (row.saml?.idp || !valid_until || !read_at) return []
  const end = new Date(valid_until)
  const since = new Date(read_at)
  return [
    { type: 'identity_provider_metadata', ...providerRef(row), since, expiresAt: end, renewal: renewalOf(row, end) },
  ]
}

const providerRef = ({ provider_id, name }: SamlRow) => ({ id: encodeId('identity_provider', provider_id), name })
