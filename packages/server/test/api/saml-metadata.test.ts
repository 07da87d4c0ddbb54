import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Tx } from '../../src/db/database.ts'
import { type ProviderRow, selectUnread } from '../../src/modules/federation/providers/providers.queries.ts'
import { openBrowser } from '../support/clients/browser.ts'
import { runJob } from '../support/deployment/deployment.ts'
import { metadataOf, startSaml, startSamlIdp } from '../support/providers/saml-idp.ts'
import { rsaKey } from '../support/providers/saml-responses.ts'

test('a new certificate of the provider is fetched by the job, and a sign-in fetches nothing', async (t) => {
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

  // Later metadata stays, even if an earlier answer arrives after it.
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

  // Wrong or missing metadata changes nothing in force; an administrator sees the problem.
  idp.entityId = 'https://other.example'
  clock.advance(3600)
  await runJob(kit.app, 'refresh_saml_metadata')
  assert.match(String((await saml()).problem), /entity id in the metadata has changed/)
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

test('of two concurrent changes of a provider, the fetched metadata belong to the final address', async (t) => {
  const { kit, idp: served, params, set, provider } = await startSaml(t)
  const other = await startSamlIdp(t)
  other.entityId = 'https://other.example'
  const isWaiting = async (tx: Tx) => {
    const { rows } = await sql`select from pg_locks join pg_stat_activity using (pid)
      where not granted and datname = current_database()`.execute(tx)
    return rows.length > 0
  }
  const second = await kit.db.inTenant(kit.tenant, async (tx) => {
    await tx.selectFrom('tenants').select('tenant_id').where('tenant_id', '=', kit.tenant).forNoKeyUpdate().execute()
    const { updated_at: _, ...shown } = await kit.admin.getIdentityProvider({ params })
    const asked = kit.admin.updateIdentityProvider({ params, body: { ...shown, sign_in: false } })
    while (!(await isWaiting(tx))) await delay(10)
    await set({ saml: { metadata_url: other.url } })
    return () => asked
  })
  const { saml } = await second()
  assert.deepEqual([saml?.metadata_url, saml?.found], [served.url, null])
  await runJob(kit.app, 'refresh_saml_metadata')
  const { found } = (await kit.admin.getIdentityProvider({ params })).saml!
  assert.deepEqual([found?.entity_id, found?.certificates], [served.entityId, provider.saml?.found?.certificates])
})

test('a slow fetch of one tenant does not delay another', async (t) => {
  const { kit, clock, idp, params } = await startSaml(t)
  const theirs = await kit.as('tenant_admin', await kit.newTenant())
  const other = await startSamlIdp(t)
  const { provider_id } = await theirs.createIdentityProvider({
    body: { name: 'Theirs', kind: 'saml', saml: { metadata_url: other.url } },
  })
  // The first one asked answers only when the other is asked too.
  const both = new Set<typeof idp>()
  const { promise: whole, resolve } = Promise.withResolvers<void>()
  for (const one of [idp, other])
    one.answer = async (_, response) => {
      if (both.add(one).size === 2) resolve()
      await whole
      response.writeHead(200).end(metadataOf(one.entityId, one.ssoUrl, one.keys))
    }
  clock.advance(3600)
  const unread = (after: ProviderRow | undefined, limit: number) =>
    kit.db.inTenant(kit.tenant, (tx) => selectUnread(tx, kit.tenant, clock.now(), after, limit))
  const rows = await unread(undefined, 9)
  assert.deepEqual([rows.length, await unread(rows.at(-1), 9)], [1, []])
  assert.equal(await runJob(kit.app, 'refresh_saml_metadata'), 2)
  const shown = [
    await kit.admin.getIdentityProvider({ params }),
    await theirs.getIdentityProvider({ params: { provider_id } }),
  ]
  assert.deepEqual(
    shown.map(({ saml }) => saml?.problem),
    [null, null],
  )
})
