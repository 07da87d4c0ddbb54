import { randomBytes } from 'node:crypto'
import { generateKey } from '@holdfast/crypto'
import { key } from '../../src/modules/federation/saml/test-idp.ts'
import type { Kit } from '../kit.ts'
import { metadataOf } from '../saml.ts'
import { bearer, challengeFrom, type World } from '../world.ts'

/** A machine that enrolls by a provider of SAML which is there for it alone. */
export async function samlMachine(kit: Kit, world: World) {
  const idp = { entityId: 'https://idp.example/saml', keys: [key] }
  const { provider_id } = await kit.admin.createIdentityProvider({
    body: {
      kind: 'saml',
      name: `provider-${randomBytes(6).toString('hex')}`,
      enrollment: true,
      provisioning: 'create',
      saml: { metadata_xml: metadataOf(idp.entityId, 'https://idp.example/sso', idp.keys) },
    },
  })
  const challenge = await challengeFrom(kit, bearer(world.own.token))
  return { idp, provider_id, challenge, key: generateKey('ES256').privateJwk }
}
