import { X509Certificate } from 'node:crypto'
import type { TenantId } from '../../../kernel/actor.ts'
import type { Expiry } from '../../../kernel/expiry.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { existing } from '../../../kernel/time.ts'
import type { FederationDeps } from '../deps.ts'
import { idpOf } from './kinds.ts'
import { type SamlRow, selectSaml } from './providers.queries.ts'

/** Expiries of the certificates that SAML identity providers sign with, and of their metadata. */
export const createSamlExpiries =
  ({ db }: Pick<FederationDeps, 'db'>) =>
  async (tenant: TenantId): Promise<Expiry[]> => {
    const rows = await db.inTenant(tenant, (tx) => selectSaml(tx, tenant))
    return rows.flatMap((row) => [...ofCertificates(row), ...ofMetadata(row)])
  }

/** Renewal of an expiry. Metadata with an address are read once an hour; a failed read renews nothing. */
const renewalOf = ({ saml, saml_checked_at, saml_problem }: SamlRow, end: Date): Expiry['renewal'] => {
  if (saml?.idp) return 'by_hand'
  return saml_problem === null ? end : (saml_checked_at ?? end)
}

function ofCertificates(row: SamlRow): Expiry[] {
  // A certificate that an earlier version accepted may begin or end on a date that does not exist.
  const certificates = (idpOf(row)?.certificates ?? []).flatMap((pem) => {
    const { validFrom, validTo } = new X509Certificate(pem)
    const end = existing(validTo)
    return end ? [{ since: existing(validFrom) ?? new Date(0), end }] : []
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

function ofMetadata(row: SamlRow): Expiry[] {
  const { valid_until, read_at } = row.saml_found ?? {}
  if (row.saml?.idp || !valid_until || !read_at) return []
  const end = new Date(valid_until)
  const since = new Date(read_at)
  return [
    { type: 'identity_provider_metadata', ...providerRef(row), since, expiresAt: end, renewal: renewalOf(row, end) },
  ]
}

const providerRef = ({ provider_id, name }: SamlRow) => ({ id: encodeId('identity_provider', provider_id), name })
