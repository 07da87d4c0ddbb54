import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { rsaKey } from '../../src/modules/federation/saml/test-idp.ts'
import { openBrowser } from '../browser.ts'
import { runJob } from '../kit.ts'
import { metadataOf, startSaml } from '../saml.ts'

test('a certificate that the provider changes arrives by itself, and no sign-in fetches anything', async (t) => {
  const { kit, clock, idp, params, set, signIn, reasons } = await startSaml(t)
  const { hits } = idp
  const next = rsaKey()
  idp.keys = [...idp.keys, next]
  assert.equal((await signIn()).answer.status, 401)
  assert.deepEqual([idp.hits, await reasons()], [hits, ['saml:signature']])
  assert.equal(await runJob(kit.app, 'refresh_saml_metadata'), 0, 'not an hour has passed')
  clock.advance(3600)
  assert.equal(await runJob(kit.app, 'refresh_saml_metadata'), 1)
  assert.equal((await signIn()).answer.status, 200)
  const [event] = (await kit.admin.listAuditEvents({ query: { kind: 'identity_provider.updated', limit: 1 } })).items
  assert.deepEqual([event?.actor?.type, Object.keys(event?.changes ?? {})], ['job', ['found']])
  const saml = async () => (await kit.admin.getIdentityProvider({ params })).saml!
  assert.equal((await saml()).found?.certificates.length, 2)

  // What was read later stays, also where an earlier answer comes after it.
  const asked = new Promise<ServerResponse>((held) => {
    idp.answer = (_, response) => held(response)
  })
  clock.advance(3600)
  const job = runJob(kit.app, 'refresh_saml_metadata')
  const earlier = await asked
  idp.answer = undefined
  idp.keys = [...idp.keys, rsaKey()]
  await kit.admin.testIdentityProvider({ params })
  earlier.writeHead(200).end(metadataOf(idp.entityId, idp.ssoUrl, idp.keys.slice(0, 1)))
  await job
  assert.equal((await saml()).found?.certificates.length, 3)

  // What it says wrongly, or not at all, changes nothing that holds; an administrator sees it.
  idp.entityId = 'https://other.example'
  clock.advance(3600)
  await runJob(kit.app, 'refresh_saml_metadata')
  assert.match(String((await saml()).problem), /another entity id/)
  idp.entityId = 'https://idp.example/saml'
  idp.answer = (_, response) => response.writeHead(500).end()
  clock.advance(3600)
  await runJob(kit.app, 'refresh_saml_metadata')
  assert.match(String((await saml()).problem), /answered 500/)
  assert.equal((await signIn()).answer.status, 200)
  idp.answer = undefined
  idp.more = ` validUntil="${new Date(clock.now().getTime() + 7200_000).toISOString()}"`
  assert.equal((await kit.admin.testIdentityProvider({ params })).ok, true)
  assert.equal((await saml()).problem, null)
  assert.equal((await signIn()).answer.status, 200)
  clock.advance(7201)
  const ended = await openBrowser(kit).get(`/admin/login/saml?provider=${params.provider_id}`)
  assert.deepEqual([ended.status, await reasons()], [401, ['saml:discovery']], 'metadata that have ended are not used')
  idp.more = ''
  await kit.admin.testIdentityProvider({ params })
  await set({ sign_in: false })
  assert.equal((await openBrowser(kit).get(`/admin/login/saml?provider=${params.provider_id}`)).status, 401)
  assert.deepEqual(await reasons(), ['saml:turned_off'])
})
