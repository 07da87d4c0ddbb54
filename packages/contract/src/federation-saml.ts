import { Type } from 'typebox'
import { Closed, Nullable, OneOf, Time } from './schema.ts'
import { nameIdFormats } from './vocabulary.ts'

const EntityId = Type.String({ minLength: 1, maxLength: 1024 })
const SsoUrl = Type.String({
  minLength: 1,
  maxLength: 2048,
  description: 'Sign-in URL (HTTP-Redirect binding): https, or http on this machine',
})
export const samlFields = {
  metadata_url: Nullable(
    Type.String({
      minLength: 1,
      maxLength: 2048,
      description:
        'URL of the metadata. The server reads and checks them when the URL is set, and then once an hour. A sign-in never reads them',
    }),
  ),
  idp: Nullable(
    Closed(
      {
        entity_id: EntityId,
        sso_url: SsoUrl,
        certificates: Type.Array(Type.String({ minLength: 1, maxLength: 16_384 }), {
          minItems: 1,
          maxItems: 10,
          description:
            'Certificates of the RSA keys that sign, PEM or DER in base64. There are several while the provider changes its key',
        }),
      },
      { description: 'Settings of the identity provider, if there is no metadata_url' },
    ),
  ),
  name_id_format: OneOf(nameIdFormats, { description: 'Format of the NameID; default: persistent' }),
  signed_response: Type.Boolean({
    description:
      'True: the response itself must be signed. False: one signature is enough, on the response or its assertion',
  }),
}
export const metadataXml = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 262_144,
    writeOnly: true,
    description: 'Metadata of the identity provider (XML). Replaces `idp` and `metadata_url`',
  }),
)
export const SamlFound = Closed(
  {
    entity_id: Type.String(),
    sso_url: Type.String(),
    certificates: Type.Array(
      Closed({
        subject: Type.String(),
        not_after: Nullable(Time),
        fingerprint: Type.String({ description: 'SHA-256, in hex' }),
      }),
    ),
    ends_at: Nullable(Time),
    read_at: Nullable(Time),
  },
  { title: 'SamlIdentityProvider', description: 'Sign-in URL and trusted certificates' },
)
export const Saml = Closed({
  ...samlFields,
  found: Nullable(SamlFound),
  problem: Nullable(
    Type.String({ description: 'Reason why the last read of the metadata failed. The previous metadata stay in use' }),
  ),
  checked_at: Nullable(Time),
  sp_entity_id: Type.String({ description: 'Entity id of this deployment, to register with the provider' }),
  acs_url: Type.String({ description: 'Assertion consumer service URL, to register with the provider' }),
  sp_metadata_url: Type.String({ description: 'URL where the provider can read both' }),
})
