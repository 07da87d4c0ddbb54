import { randomBytes } from 'node:crypto'
import { examples } from '@holdfast/contract/examples'
import { generateKey } from '@holdfast/crypto'
import { bearer, call, challengeFrom, deviceCaller, operation } from '../support/actors/all-callers.ts'
import type { Kit } from '../support/deployment/deployment.ts'
import { answerTo, metadataOf } from '../support/providers/saml-idp.ts'
import { key } from '../support/providers/saml-responses.ts'
import type { Here } from './here.ts'

/** Creates a machine that enrolls through a SAML provider of its own. */
export async function samlMachine(kit: Kit, world: Here) {
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

/** Returns the enrollment request of such a machine after its user has signed in. */
export async function answeredMachine(kit: Kit, world: Here) {
  const { challenge, key, provider_id, idp } = await samlMachine(kit, world)
  const caller = deviceCaller(challenge, key)
  const body = { ...examples.beginEnrollmentBySaml, provider_id }
  const begun = (await call(kit, operation('beginEnrollmentBySaml'), caller, body)).json as Record<string, string>
  const attributes = { username: randomBytes(6).toString('hex') }
  const form = answerTo(idp, String(begun.redirect_url), { subject: attributes.username, attributes })
  const device = { name: 'phone', platform: 'ios' }
  return { caller, body: { request_id: begun.request_id, saml_response: form.SAMLResponse, device } }
}
