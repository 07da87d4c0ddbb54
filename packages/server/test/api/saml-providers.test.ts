import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { type ApiError, changeIdentityProvider } from '@holdfast/sdk'
import { sql } from 'kysely'
import { decodeId } from '../../src/kernel/ids.ts'
import { trySignIn } from '../support/actors/people.ts'
import { adminPassword } from '../support/deployment/deployment.ts'
import { metadataOf, startSaml } from '../support/providers/saml-idp.ts'
import { ecKey, key, rsaKey } from '../support/providers/saml-responses.ts'

const idp = { entity_id: 'https://idp.example/saml', sso_url: 'https://idp.example/sso?a=1', certificates: [key.pem] }
const refusedFor = (field: string) => (e: unknown) => {
  const { status, errors } = e as ApiError
  assert.deepEqual([status, errors[0]?.field], [422, field], String(e))
  return true
}

test('a provider of SAML is set up by an address, by pasted metadata or by hand, and shows what was found', async (t) => {
  const { kit, idp: served, provider, params } = await startSaml(t)
  const { admin } = kit
  const certificate = provider.saml?.found?.certificates[0]
  assert.deepEqual(
    [provider.oidc, provider.saml?.metadata_url, provider.saml?.idp, provider.saml?.found?.entity_id],
    [null, served.url, null, served.entityId],
  )
  assert.deepEqual([certificate?.subject, certificate?.not_after], ['CN=idp', '2035-01-01T00:00:00.000Z'])
  assert.match(String(certificate?.fingerprint), /^[0-9a-f]{64}$/)
  const tested = await admin.testIdentityProvider({ params })
  assert.deepEqual([tested.ok, tested.found, tested.saml?.certificates], [true, null, [certificate]])

  const pasted = await admin.createIdentityProvider({
    body: {
      name: 'Pasted',
      kind: 'saml',
      saml: { metadata_xml: metadataOf(idp.entity_id, 'https://idp.example/sso', [key]), signed_response: true },
    },
  })
  assert.deepEqual([pasted.saml?.idp?.certificates, pasted.saml?.metadata_url], [[key.pem], null])
  const bare = key.pem.replace(/-----[A-Z ]+-----|\n/g, '')
  const byHand = await admin.createIdentityProvider({
    body: { name: 'By hand', kind: 'saml', saml: { idp: { ...idp, certificates: [bare] } } },
  })
  assert.deepEqual([byHand.saml?.idp, byHand.saml?.found?.read_at], [idp, null])
  assert.equal((await admin.testIdentityProvider({ params: { provider_id: byHand.provider_id } })).ok, true)

  // The answer of a GET may be sent back whole; one metadata source replaces another.
  const of = { params: { provider_id: byHand.provider_id } }
  const shown = await admin.getIdentityProvider(of)
  const same = await admin.updateIdentityProvider({ ...of, body: shown })
  assert.deepEqual(same, shown)
  const xml = metadataOf('https://other.example', 'https://other.example/sso', [rsaKey(), key])
  await changeIdentityProvider(admin, of, { saml: { idp: null, metadata_xml: xml } })
  const after = await admin.getIdentityProvider(of)
  assert.deepEqual([after.saml?.idp?.entity_id, after.saml?.idp?.certificates.length], ['https://other.example', 2])
  const [event] = (await admin.listAuditEvents({ query: { kind: 'identity_provider.updated', limit: 1 } })).items
  assert.deepEqual(Object.keys(event?.changes ?? {}), ['saml'])
  assert.ok(!JSON.stringify(event).includes('BEGIN CERTIFICATE'), 'an event names certificates by their fingerprints')
  await changeIdentityProvider(admin, of, { saml: { idp: null, metadata_url: served.url } })
  assert.equal((await admin.getIdentityProvider(of)).saml?.found?.entity_id, served.entityId)
  await assert.rejects(
    admin.updateIdentityProvider({ ...of, body: { ...(await admin.getIdentityProvider(of)), saml: null } }),
    refusedFor('saml'),
  )

  const { claims } = await admin.createIdentityProvider({
    body: {
      name: 'Prepared',
      kind: 'saml',
      enabled: false,
      claims: { email: 'mail' },
      saml: { metadata_url: 'https://idp.invalid/metadata' },
    },
  })
  assert.deepEqual(claims, { username: 'username', email: 'mail', display_name: 'displayName', groups: 'groups' })

  await t.test(
    'a certificate with a date that does not exist, from an earlier version, keeps nothing from being shown',
    async () => {
      const { tenant, db } = kit
      const { provider_id } = pasted
      const of = { params: { provider_id } }
      const ends = async () => {
        const { items } = await admin.listExpiries({ query: { type: 'identity_provider_certificate' } })
        return items.filter((e) => e.id === provider_id).map((e) => e.expires_at)
      }
      const end = '2035-01-01T00:00:00.000Z'
      for (const [which, shown, listed] of [
        ['begin', end, [end]],
        ['end', null, []],
      ] as const) {
        const saml = JSON.stringify({ idp: { ...pasted.saml?.idp, certificates: [withoutDate(key.pem, which)] } })
        await db.inTenant(tenant, (tx) =>
          sql`update identity_providers set saml = saml || ${saml}::jsonb
            where tenant_id = ${tenant} and provider_id = ${decodeId('identity_provider', provider_id)}::uuid`.execute(
            tx,
          ),
        )
        assert.equal((await admin.getIdentityProvider(of)).saml?.found?.certificates[0]?.not_after, shown)
        assert.ok((await admin.listIdentityProviders()).items.length > 1)
        assert.equal((await admin.testIdentityProvider(of)).saml?.certificates.length, 1)
        assert.deepEqual(await ends(), listed)
      }
    },
  )
})

/** The certificate with a start or an end on February 31. */
function withoutDate(pem: string, which: 'begin' | 'end'): string {
  const der = Buffer.from(pem.replace(/-----[A-Z ]+-----|\n/g, ''), 'base64')
  const first = der.indexOf(Buffer.from('170d', 'hex'))
  der.write('260231000000Z', first + (which === 'begin' ? 2 : 17), 'latin1')
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`
}

test('what people could be led astray by, or nothing can be verified with, is refused where it is set', async (t) => {
  const { kit, idp: served } = await startSaml(t)
  const create = (saml: object | undefined, more: object = {}) =>
    kit.admin.createIdentityProvider({ body: { name: 'x', kind: 'saml', ...(saml && { saml }), ...more } as never })
  const long = { ...idp, certificates: [rsaKey(1024).pem] }
  for (const [what, saml, field] of [
    ['nothing', {}, 'saml'],
    ['two sources', { idp, metadata_url: served.url }, 'saml'],
    ['a script as the address to sign in at', { idp: { ...idp, sso_url: 'javascript:alert(1)' } }, 'saml.idp.sso_url'],
    ['plain http', { idp: { ...idp, sso_url: 'http://idp.example/' } }, 'saml.idp.sso_url'],
    ['spaces around the entity id', { idp: { ...idp, entity_id: ' x' } }, 'saml.idp.entity_id'],
    ['an elliptic curve', { idp: { ...idp, certificates: [ecKey().pem] } }, 'saml.idp.certificates'],
    ['a short key', { idp: long }, 'saml.idp.certificates'],
    ['no certificate', { idp: { ...idp, certificates: ['nonsense'] } }, 'saml.idp.certificates'],
    ['no metadata', { metadata_xml: '<html></html>' }, 'saml.metadata_xml'],
    [
      'a document type',
      { metadata_xml: `<!DOCTYPE x>${metadataOf('https://a', 'https://b', [key])}` },
      'saml.metadata_xml',
    ],
    [
      'a script in metadata',
      { metadata_xml: metadataOf('https://a', 'javascript:alert(1)', [key]) },
      'saml.metadata_xml',
    ],
    ['no http address', { metadata_url: 'file:///etc/passwd' }, 'saml.metadata_url'],
    ['a link-local address', { metadata_url: 'http://169.254.169.254/latest' }, 'saml.metadata_url'],
  ] as const)
    await assert.rejects(create(saml), refusedFor(field), what)
  await assert.rejects(create(undefined), refusedFor('saml'))
  await assert.rejects(create({ idp }, { oidc: { issuer: 'https://a', client_id: 'x' } }), refusedFor('oidc'))
  await assert.rejects(create({ idp }, { kind: 'oidc' }), refusedFor('saml'))
  await assert.rejects(create(undefined, { kind: 'oidc' }), refusedFor('oidc'))
  const security = await kit.as('security_admin')
  const mapped = {
    name: 'y',
    kind: 'saml' as const,
    role_mappings: [{ value: 'x', role: 'viewer' as const }],
    saml: { idp },
  }
  await assert.rejects(security.createIdentityProvider({ body: mapped }), { status: 403 })
})

test('metadata that come slowly, are 10 MB or lead elsewhere are refused at once; nobody else notices', async (t) => {
  const { kit, idp: served, params, set } = await startSaml(t)
  const create = () =>
    kit.admin.createIdentityProvider({ body: { name: 'bad', kind: 'saml', saml: { metadata_url: served.url } } })
  served.answer = (_, response) => {
    response.writeHead(200, { 'content-type': 'text/xml' })
    const more = () => {
      if (!response.destroyed) response.write(`<!-- ${'x'.repeat(64 * 1024)} -->`, () => setImmediate(more))
    }
    more()
  }
  await assert.rejects(create(), refusedFor('saml.metadata_url'))
  let reached = 0
  const inside = createServer((_, response) => {
    reached++
    response.end(metadataOf('https://a', 'https://b', [key]))
  })
  await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
  kit.after(() => inside.close())
  for (const location of [
    'http://169.254.169.254/latest/meta-data',
    `http://127.0.0.1:${(inside.address() as AddressInfo).port}/`,
  ]) {
    served.answer = (_, response) => response.writeHead(302, { location }).end()
    await assert.rejects(create(), refusedFor('saml.metadata_url'))
  }
  assert.equal(reached, 0)

  served.answer = () => {}
  const started = performance.now()
  const slow = kit.admin.testIdentityProvider({ params })
  assert.equal((await trySignIn(kit, 'admin', { password: adminPassword })).status, 200, 'others go on meanwhile')
  const { ok, problem } = await slow
  assert.deepEqual([ok, problem?.reason], [false, 'unreachable'])
  assert.ok(performance.now() - started < 10_000)
  served.answer = undefined
  await set({ enabled: false })
  await set({ enabled: true })
})
