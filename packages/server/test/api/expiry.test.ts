import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Contract, Output } from '@holdfast/contract'
import { generateLicenseKey, signLicense } from '@holdfast/crypto'
import pg from 'pg'
import { newCsr } from '../support/actors/certificate-requests.ts'
import { enroll, publish, refused, rule, withGateway } from '../support/actors/gateways.ts'
import { createClock, type Kit, runJob, startKit } from '../support/deployment/deployment.ts'
import { makeTenant } from '../support/deployment/tenants.ts'
import { opened } from '../support/domain/notifications.ts'
import { startSamlIdp } from '../support/providers/saml-idp.ts'
import { rsaKey } from '../support/providers/saml-responses.ts'

type Expiry = Output<Contract['listExpiries']>['items'][number]
const day = 86_400
const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds

async function folder(t: TestContext, files: Record<string, string | Buffer>) {
  const path = await mkdtemp(join(tmpdir(), 'hft-expiry-'))
  t.after(() => rm(path, { recursive: true }))
  for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content)
  return (name: string) => join(path, name)
}
const createKey = async (kit: Kit, name: string, days: number) =>
  (await kit.admin.createApiKey({ body: { name, role: 'viewer', expires_in_seconds: days * day } })).api_key
const list = async (kit: Kit, query: Parameters<Kit['admin']['listExpiries']>[0] & object = {}) =>
  (await kit.admin.listExpiries(query)).items
const ofType = (items: readonly Expiry[], type: Expiry['type']) => items.filter((e) => e.type === type)
const endOf = (pem: string) => new X509Certificate(pem).validToDate.toISOString()

test('everything that runs out is there, with its end, soonest first', async (t) => {
  const license = generateLicenseKey()
  const claims = {
    iss: 'Holdfast',
    sub: 'Acme Inc.',
    jti: 'lic-1',
    edition: 'enterprise',
    features: [],
    limits: {},
    iat: inSeconds(-60),
    nbf: inSeconds(-60),
    exp: inSeconds(300 * day),
    grace_days: 14,
  }
  const path = await folder(t, { license: signLicense(claims, license.privateKey), keys: license.publicKey })
  const clock = createClock()
  const idp = await startSamlIdp(t)
  const files = { file: path('license'), keysFile: path('keys') }
  const kit = await startKit(t, { now: clock.now, config: { ...opened, license: files } })
  const key = await createKey(kit, 'ci', 20)
  await kit.admin.createApiKey({ body: { name: 'without an end', role: 'viewer' } })
  const { client: gateway, gateway: made } = await withGateway(kit)
  await publish(kit, [rule('all', { any: true })])
  const device = await enroll(kit, 'laptop', { now: clock.now })
  const { spc } = await device.client.issueSpc({ body: { csr: await newCsr() } })
  const before = await kit.admin.trustAnchors()
  await kit.admin.rotateTrustAnchors({ body: { mode: 'planned' } })
  const set = await kit.admin.trustAnchors()
  const { secret: _, ...rotated } = await kit.admin.rotateGatewaySecret({ params: { gateway_id: made.gateway_id } })
  const crls = (await gateway.gatewayTrustAnchors()).crls
  const signer = await kit.admin.createSigner({ body: { purpose: 'policy' } })
  await kit.admin.activateSigner({ params: { signer_id: signer.signer_id }, body: {} })
  const retiring = (await kit.admin.listSigners({ query: { state: 'retiring' } })).items
  const saml = await kit.admin.createIdentityProvider({
    body: { name: 'Login', kind: 'saml', saml: { metadata_url: idp.url } },
  })
  const given = { entity_id: 'https://idp.example', sso_url: 'https://idp.example/sso', certificates: [rsaKey().pem] }
  const byHand = await kit.admin.createIdentityProvider({
    body: { name: 'By hand', kind: 'saml', saml: { idp: given } },
  })

  const current = await kit.admin.trustAnchors()

  const { items, summary } = await kit.admin.listExpiries({ query: { limit: 200 } })
  const ends = (type: Expiry['type']) => ofType(items, type).map((e) => [e.id, e.expires_at, e.renews_itself])
  const signerOf = (purpose: string) => retiring.find((s) => s.purpose === purpose)

  assert.deepEqual(ends('api_key'), [[key.key_id, key.expires_at, false]])
  assert.deepEqual(ends('gateway_secret'), [[made.gateway_id, rotated.old_secret_valid_until, false]])
  assert.deepEqual(
    new Set(ends('identity_provider_certificate').map(String)),
    new Set([
      [saml.provider_id, endOf(idp.keys[0]!.pem), true].join(),
      [byHand.provider_id, endOf(given.certificates[0]!), false].join(),
    ]),
  )
  const [old] = before.anchors
  const next = set.anchors.find((a) => a.state === 'active')!
  assert.deepEqual(ends('trust_anchor'), [
    [old!.anchor_id, signerOf('ca-root')!.retire_after, true],
    [next.anchor_id, next.not_after, false],
  ])
  assert.deepEqual(
    ends('issuing_ca').map(([id, end]) => [id === signerOf('ca-issuing')!.signer_id, end]),
    [
      [true, signerOf('ca-issuing')!.retire_after],
      [
        false,
        set.intermediates
          .map(endOf)
          .sort()
          .findLast((end) => end < next.not_after && end !== old!.not_after),
      ],
    ],
  )
  assert.equal(ends('cross_certificate').length, 2)
  const replaced = retiring.find((s) => s.purpose === 'policy')!
  assert.deepEqual(ends('signing_key'), [[replaced.signer_id, replaced.retire_after, true]])
  assert.deepEqual(ends('trust_set'), [[`ta-${current.version}`, current.expires_at, true]])
  assert.equal(ends('crl').length, crls.length)
  assert.deepEqual(
    ofType(items, 'license').map((e) => [e.id, e.expires_at]),
    [
      ['lic-1', new Date(claims.exp * 1000).toISOString()],
      ['lic-1', new Date((claims.exp + 14 * day) * 1000).toISOString()],
    ],
  )
  assert.deepEqual(
    items,
    items.toSorted((a, b) => a.expires_at.localeCompare(b.expires_at)),
  )

  const count = (status: Expiry['status']) => items.filter((e) => e.status === status).length
  assert.deepEqual(summary, {
    expired: 0,
    critical: 1,
    warning: 1,
    ok: count('ok'),
    spcs: [{ day: spc.not_after.slice(0, 10), count: 1 }],
  })
  assert.equal(count('ok') + 2, items.length)
  const [ci] = ofType(items, 'api_key')
  assert.deepEqual([ci?.days_left, ci?.status, ci?.since], [19, 'warning', key.created_at])

  await t.test('another tenant is not shown the license', async () => {
    const other = await (await kit.as('tenant_admin', await kit.newTenant())).listExpiries({ query: { limit: 200 } })
    assert.deepEqual([...new Set(other.items.map((e) => e.type))].sort(), ['issuing_ca', 'trust_anchor', 'trust_set'])
  })
  await t.test('each filter gives what fits it', async () => {
    const fitting = async (query: object) => (await list(kit, { query: { limit: 200, ...query } })).map((e) => e.type)
    assert.deepEqual(await fitting({ status: 'critical' }), ['gateway_secret'])
    assert.deepEqual(await fitting({ renews_itself: false, within_days: 30 }), ['gateway_secret', 'api_key'])
    assert.deepEqual(await fitting({ type: 'api_key', within_days: 19 }), [])
    assert.deepEqual(await fitting({ type: 'api_key', status: 'ok' }), [])
    assert.ok((await fitting({ renews_itself: true })).every((type) => !['api_key', 'license'].includes(type)))
    await assert.rejects(kit.admin.listExpiries({ query: { type: 'nothing' as 'crl' } }), refused(400))
  })
  await t.test('a provider whose metadata can not be read any more renews nothing', async () => {
    idp.answer = (_, response) => response.writeHead(500).end()
    clock.advance(3600)
    await runJob(kit.app, 'refresh_saml_metadata')
    const found = await list(kit, { query: { type: 'identity_provider_certificate', renews_itself: false } })
    assert.deepEqual(found.map((e) => e.name).sort(), ['By hand', 'Login'])
  })
  await t.test('a key that has ended stays for 30 days', async () => {
    clock.advance(21 * day)
    await runJob(kit.app, 'ensure_partitions')
    const found = await list(kit, { query: { status: 'expired' } })
    assert.deepEqual(
      ofType(found, 'api_key').map((e) => [e.id, e.days_left]),
      [[key.key_id, -2]],
    )
    clock.advance(30 * day)
    await runJob(kit.app, 'ensure_partitions')
    assert.deepEqual(await list(kit, { query: { type: 'api_key' } }), [])
  })
})

test('the certificate that the listener shows', async (t) => {
  const { pem, privateKey } = rsaKey()
  const path = await folder(t, { cert: pem, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) })
  const kit = await startKit(t, { config: { tls: { certFile: path('cert'), keyFile: path('key') } } })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const headers = { authorization: `Bearer ${kit.adminKey}`, host: 'holdfast.test' }
  const options = { headers, rejectUnauthorized: false, agent: false } as const
  request(`${kit.url.replace(/^http:/, 'https:')}/v1/admin/certs/expiry?type=tls_certificate`, options, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (some) => {
      text += some
    })
    response.on('end', () => resolve(text))
  })
    .on('error', reject)
    .end()
  const { items } = JSON.parse(await promise) as { items: Expiry[] }
  assert.deepEqual(
    items.map((e) => [e.id.length, e.expires_at, e.renews_itself]),
    [[64, endOf(pem), false]],
  )
})

test('of whose keys it is told, and how many at a time', async (t) => {
  const kit = await startKit(t)
  await t.test('each tenant sees its own, and whoever may read operations sees it', () => byTenant(kit))
  await t.test('thousands of keys are a page at a time, each once', () => byPage(kit))
})

async function byTenant(kit: Kit): Promise<void> {
  const { client } = await makeTenant(kit, 'acme')
  await createKey(kit, 'ci', 20)
  const [own, others] = [await kit.admin.listExpiries({ query: {} }), await client.listExpiries({ query: {} })]
  assert.deepEqual(ofType(others.items, 'api_key'), [])
  const ids = new Set(own.items.filter((e) => e.type !== 'trust_set').map((e) => e.id))
  assert.ok(others.items.length > 0 && others.items.every((e) => !ids.has(e.id)))
  for (const role of ['viewer', 'auditor', 'operator'] as const) await (await kit.as(role)).listExpiries({ query: {} })
  await assert.rejects((await kit.as('helpdesk')).listExpiries({ query: {} }), refused(403))
}

async function byPage(kit: Kit): Promise<void> {
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  await client.connect()
  // More keys expire at the same time than a page holds.
  await client.query(`set session_replication_role = replica`)
  await client.query(
    `insert into api_keys (tenant_id, key_id, lookup, secret_digest, hint, name, role, created_at, expires_at)
     select $1, gen_random_uuid(), 'l' || i, '', '', 'key' || i, 'viewer', now(),
       date_trunc('second', now()) + (i / 500) * interval '1 day' + interval '1 hour' from generate_series(0, 1999) as i`,
    [kit.tenant],
  )
  await client.end()
  // In addition to the existing key.
  const seen: Expiry[] = []
  let cursor: string | undefined
  let pages = 0
  do {
    const page = await kit.admin.listExpiries({ query: { limit: 200, ...(cursor !== undefined && { cursor }) } })
    assert.equal(page.summary !== null, pages++ === 0, 'the first page alone has the summary')
    if (page.summary) assert.ok(page.summary.critical === 500 && page.summary.warning >= 1500)
    seen.push(...page.items)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  assert.equal(new Set(ofType(seen, 'api_key').map((e) => e.id)).size, 2001)
  assert.equal(ofType(seen, 'api_key').length, 2001)
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => Date.parse(a.expires_at) - Date.parse(b.expires_at)),
  )
  const { next_cursor } = await kit.admin.listExpiries({ query: {} })
  await assert.rejects(kit.admin.listExpiries({ query: { cursor: next_cursor!, type: 'api_key' } }), refused(400))
}
