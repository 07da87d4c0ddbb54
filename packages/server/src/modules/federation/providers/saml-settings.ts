import { X509Certificate } from 'node:crypto'
import type { SamlPreset } from '@holdfast/contract/vocabulary'
import { failField } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { storable } from '../../../kernel/text.ts'
import { OutboundError } from '../../../outbound/outbound-error.ts'
import type { FederationDeps } from '../deps.ts'
import { FederationError } from '../protocols/proven-identity.ts'
import { certificateDate, signingCertificates } from '../protocols/saml/certificates.ts'
import { isSsoUrl, type SamlProvider } from '../protocols/saml/provider.ts'
import type { Saml } from '../protocols/saml/saml.ts'
import { idpOf } from './kinds.ts'
import type { Measured, ProviderFields, ProviderRow } from './providers.queries.ts'

type Settings = NonNullable<ProviderFields['saml']>
type Idp = NonNullable<Settings['idp']>
export type SamlFound = NonNullable<Measured['saml_found']>
export type GivenSaml = Partial<Settings> & { metadata_xml?: string; preset?: SamlPreset }

/** Maximum size of metadata, in bytes; those of Entra ID need a quarter of it. */
const maxMetadataBytes = 256 * 1024
export const nothingMeasured: Measured = { saml_found: null, saml_checked_at: null, saml_problem: null }

/** Settings of a SAML provider: an address of its metadata, the metadata themselves, or their content. */
export function createSamlSettings({
  outbound,
  saml,
  now,
}: Pick<FederationDeps, 'outbound' | 'now'> & { saml: Pick<Saml, 'readMetadata'> }) {
  /** Reads the metadata at an address. Throws FederationError. */
  async function readAt(url: string): Promise<SamlFound> {
    const headers = { accept: 'application/samlmetadata+xml, application/xml;q=0.9, text/xml;q=0.8' }
    const { status, body } = await outbound
      .request(url, { headers, maxResponseBytes: maxMetadataBytes })
      .catch((e: unknown) => {
        if (!(e instanceof OutboundError)) throw e
        throw new FederationError('unreachable', `The metadata of the provider could not be read: ${e.message}`)
      })
    if (status !== 200)
      throw new FederationError(
        'discovery',
        `The provider answered ${status} at the URL of its metadata; redirects are not followed.`,
      )
    return { ...read(body.toString()), read_at: now().toISOString() }
  }

  function read(xml: string): Idp & Pick<SamlFound, 'valid_until'> {
    const { issuer, ssoUrl, certificates, validUntil } = saml.readMetadata(xml)
    return {
      entity_id: issuer,
      sso_url: ssoUrl,
      certificates: certificates.map(({ pem }) => pem),
      valid_until: validUntil?.toISOString() ?? null,
    }
  }

  return {
    readAt,

    /**
     * Returns complete and checked settings, and reads metadata that were given. 422 for settings that cannot be used.
     */
    settle: ({ metadata_xml, preset: _, ...given }: GivenSaml): Settings => {
      const settings: Settings = {
        metadata_url: null,
        idp: null,
        name_id_format: 'persistent',
        signed_response: false,
        ...given,
      }
      const { metadata_url: url, idp } = settings
      if ([url, idp, metadata_xml ?? null].filter((source) => source !== null).length !== 1)
        failField('saml', 'give exactly one of metadata_url, metadata_xml and idp')
      if (metadata_xml !== undefined) {
        const { valid_until: __, ...said } = orField('saml.metadata_xml', () => read(metadata_xml))
        return { ...settings, idp: said }
      }
      const refusal = url === null ? undefined : outbound.refusalOf(url)
      if (refusal) failField('saml.metadata_url', refusal)
      return { ...settings, idp: idp && checked(idp) }
    },

    /** Reads the metadata at the address now; 422 if they cannot be used. */
    measure: async (url: string): Promise<Measured> => {
      try {
        return { saml_found: await readAt(url), saml_checked_at: now(), saml_problem: null }
      } catch (e) {
        if (e instanceof FederationError) failField('saml.metadata_url', e.message)
        throw e
      }
    },
  }
}
export type SamlSettings = ReturnType<typeof createSamlSettings>

function orField<T>(field: string, work: () => T): T {
  try {
    return work()
  } catch (e) {
    if (e instanceof FederationError) failField(field, e.message)
    throw e
  }
}

function checked({ entity_id, sso_url, certificates }: Idp): Idp {
  if (entity_id.trim() !== entity_id || storable(entity_id, 1024) !== entity_id)
    failField('saml.idp.entity_id', 'has spaces around it, or characters that cannot be stored')
  if (!isSsoUrl(sso_url))
    failField('saml.idp.sso_url', 'must be an https:// URL, without a user name, password or fragment')
  return {
    entity_id,
    sso_url,
    certificates: orField('saml.idp.certificates', () => signingCertificates(certificates)),
  }
}

/**
 * Our entity id and the address for the provider's answers. The address has no underscore, since Okta does not accept
 * one.
 */
export function spOf(publicUrl: string, providerId: string) {
  const id = encodeId('identity_provider', providerId)
  return {
    entityId: `${publicUrl}/admin/login/saml/metadata/${id}`,
    acsUrl: `${publicUrl}/admin/login/saml/acs/${id.replace('_', '-')}`,
  }
}

/** Settings of a provider for SAML. Throws FederationError if it cannot be used now. */
export function samlOf(publicUrl: string, provider: ProviderRow, now: Date): SamlProvider {
  const { saml } = provider
  if (!saml) throw new FederationError('client', 'The provider does not support SAML.')
  const idp = idpOf(provider)
  if (!idp) throw new FederationError('discovery', 'The metadata of the provider have not been read yet.')
  const until = saml.idp ? null : provider.saml_found?.valid_until
  if (until && new Date(until) <= now)
    throw new FederationError('discovery', 'The metadata of the provider have expired.')
  return {
    issuer: idp.entity_id,
    ssoUrl: idp.sso_url,
    certificates: idp.certificates,
    ...spOf(publicUrl, provider.provider_id),
    signedResponse: saml.signed_response,
    nameIdFormat: saml.name_id_format,
  }
}

/** Sign-in address and certificates in use, for administrators. */
export function viewFound(provider: Pick<ProviderRow, 'saml' | 'saml_found'>) {
  const idp = idpOf(provider)
  if (!idp) return null
  const measured = provider.saml?.idp ? null : provider.saml_found
  return {
    entity_id: idp.entity_id,
    sso_url: idp.sso_url,
    certificates: idp.certificates.map((pem) => {
      const { subject, validTo, fingerprint256 } = new X509Certificate(pem)
      return {
        subject: (subject ?? '').split('\n').join(', '),
        // A certificate that an earlier version accepted may end on a date that does not exist.
        not_after: certificateDate(validTo)?.toISOString() ?? null,
        fingerprint: fingerprintOf(fingerprint256),
      }
    }),
    ends_at: measured?.valid_until ?? null,
    read_at: measured?.read_at ?? null,
  }
}
const fingerprintOf = (colons: string) => colons.replaceAll(':', '').toLowerCase()

/** Fields of an identity provider for audit events. */
export const factsOfIdp = (idp: Idp | null) =>
  idp && {
    entity_id: idp.entity_id,
    sso_url: idp.sso_url,
    certificates: idp.certificates.map((pem) => fingerprintOf(new X509Certificate(pem).fingerprint256)),
  }
