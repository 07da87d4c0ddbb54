import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generateKey, type PrivateJwk } from '@holdfast/crypto'
import pg from 'pg'
import { call, deviceCaller, operation } from '../support/actors/all-callers.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'
import { askPython, without } from './tools.ts'

const skip = without('python3-jwcrypto')

type Verdict = {
  header: { alg: string; typ: string; kid: string }
  purpose: string[]
  thumbprint: string
  // biome-ignore lint/suspicious/noExplicitAny: a payload has any content, which the test checks.
  payload: any
  is_canonical: boolean
  content_digest: string | null
  variant_digests: Record<string, string>
  accepted_by_others: number
  flipped: { tried: number; refused: number }
}
type Verdicts<Name extends string> = {
  messages: Record<Name, Verdict>
  device_thumbprints: string[]
  documents: string[]
}

/** Contents that implementations of RFC 8785 might write differently: the order of names, escapes, other scripts. */
const policy = (cidr: string) => ({
  schema: 'holdfast.policy/1',
  resources: {
    b: { cidrs: [cidr] },
    Z: { cidrs: ['10.2.0.0/16', 'fd00::/64'], ports: ['tcp/443'] },
    'b.1': { dns: ['*.example.com'] },
    '1b': { cidrs: ['10.4.0.1'] },
  },
  posture_checks: {
    encrypted: {
      expression: 'disk.encrypted',
      remediation: 'Verschlüsselung "einschalten"\n\t\\ / é e\u0301 漢字 🔒 <b>&amp;</b>',
    },
  },
  rules: [
    { id: 'z', action: 'allow', from: { any: true }, to: ['b', 'Z', 'b.1', '1b'] },
    { id: 'a', action: 'allow', from: { any: true }, to: ['10.9.0.0/16'], when: { posture: ['encrypted'] } },
  ],
  settings: { mtu: 1400, poll_seconds: 60, split_tunnel: true },
})
const publish = (kit: Kit, cidr: string) =>
  kit.admin.publishPolicy({ body: { channel: 'stable', policy: policy(cidr) } })

/** One object of each kind that the control plane signs, fetched by its recipient. */
async function collectSigned(kit: Kit) {
  const { admin } = kit
  const pool = await admin.createGatewayPool({ body: { name: 'frankfurt', region: { code: 'eu' } } })
  const params = { pool_id: pool.pool_id }
  const { gateway, secret } = await admin.createGateway({ params, body: { name: 'fra-1' } })
  await publish(kit, '10.1.0.0/16')

  const { secret: token } = await admin.generateToken({ body: {} })
  const { privateJwk, publicJwk } = generateKey('ES256')
  const enrolled = await call(kit, operation('enroll'), deviceCaller(token, privateJwk), {
    device: { name: 'laptop', platform: 'linux' },
  })
  assert.equal(enrolled.status, 201, enrolled.text)
  const credential = String(enrolled.json.credential)
  const device = deviceCaller(credential, privateJwk)
  const delivered = (await call(kit, operation('policyBundle'), device)).json

  const gatewayClient = kit.clientFor(secret)
  const snapshot = await gatewayClient.unifiedPolicy()
  await publish(kit, '10.3.0.0/16')
  const as_of = JSON.parse(Buffer.from(snapshot.policy.split('.')[1]!, 'base64url').toString()).generated_at as string
  const delta = await gatewayClient.unifiedPolicy({ query: { since: snapshot.seq, as_of } })
  assert.deepEqual([snapshot.kind, delta.kind, delta.base_seq], ['snapshot', 'delta', snapshot.seq])
  const deliveredNext = (await call(kit, operation('policyBundle'), device)).json
  const assertion = String((await call(kit, operation('postureAssertion'), device)).json.assertion)
  const trust = await admin.trustAnchors()
  return {
    assertion,
    enrolled: enrolled.json,
    publicJwk,
    credential,
    delivered,
    deliveredNext,
    gateway,
    snapshot,
    delta,
    trust,
  }
}

test('jwcrypto verifies all that is signed, by the published keys and no others, and to the last bit', {
  skip,
}, async (t) => {
  const kit = await startKit(t)
  const made = await collectSigned(kit)
  const { signed, ...document } = made.trust
  const messages = {
    credential: made.credential,
    assertion: made.assertion,
    pointer: String(made.delivered.pointer),
    bundle: String(made.delivered.bundle),
    snapshot: made.snapshot.policy,
    delta: made.delta.policy,
    trust: signed,
  }
  const verdicts = await askPython<Verdicts<keyof typeof messages>>('python3-jwcrypto', 'verify_jws.py', {
    jwks: made.trust.jwks,
    messages,
    device_keys: [made.publicJwk],
    documents: [document],
  })
  const { assertion, credential, pointer, bundle, snapshot, delta, trust } = verdicts.messages

  const kinds = {
    credential: ['device+jwt', 'credential'],
    assertion: ['eat+jwt', 'posture'],
    pointer: ['policy-pointer+jwt', 'policy'],
    bundle: ['policy-bundle+jws', 'policy'],
    snapshot: ['gateway-policy+jws', 'gateway-policy'],
    delta: ['gateway-policy+jws', 'gateway-policy'],
    trust: ['trust-set+jws', 'trust-set'],
  } as const
  for (const [name, [typ, purpose]] of Object.entries(kinds)) {
    const verdict = verdicts.messages[name as keyof typeof kinds]
    assert.deepEqual([name, verdict.header.alg, verdict.header.typ], [name, 'ES256', typ])
    assert.deepEqual(verdict.purpose, [purpose], 'signed by a key of this purpose')
    assert.equal(verdict.thumbprint, verdict.header.kid, 'the kid is the thumbprint of RFC 7638')
    assert.equal(verdict.accepted_by_others, 0, `${name}: no other published key verifies it`)
    assert.ok(verdict.flipped.tried >= 12, `${name}: bits of header, payload and signature were flipped`)
    assert.equal(verdict.flipped.refused, verdict.flipped.tried, `${name}: a flipped bit is refused`)
  }
  assert.equal(made.trust.jwks.keys.length, new Set(made.trust.jwks.keys.map((key) => key.kid)).size)

  assert.equal(credential.payload.cnf.jkt, verdicts.device_thumbprints[0], 'bound to the key that was proved')
  assert.equal(credential.payload.sub, made.enrolled.device_id)
  const { sub, tid, cnf } = credential.payload
  const { payload } = assertion
  assert.deepEqual([payload.sub, payload.tid, payload.cnf], [sub, tid, cnf], 'of the same device and key')
  assert.deepEqual(credential.payload.aud, [kit.publicUrl, 'urn:holdfast:gateway'])
  assert.equal(bundle.content_digest, made.delivered.digest, 'the digest is that of the content')
  assert.equal(pointer.payload.digest, made.delivered.digest)
  assert.match(bundle.payload.content.posture_checks[0].remediation, /漢字 🔒/)
  for (const { payload, variant_digests } of [snapshot, delta]) {
    assert.equal(payload.gateway_id, made.gateway.gateway_id)
    for (const [name, digest] of Object.entries(variant_digests)) assert.equal(digest, name)
  }
  const said = snapshot.payload.peers.map((peer: { device_id: string; variant: string }) => [
    peer.device_id,
    peer.variant,
  ])
  const held = [made.enrolled.device_id, made.delivered.digest]
  assert.deepEqual(said, [held], 'gateway and device hold the same content')
  assert.ok(String(made.delivered.digest) in snapshot.variant_digests)
  const moves = delta.payload.moved.map((move: { from: string; to: string }) => [move.from, move.to])
  assert.deepEqual(moves, [[made.delivered.digest, made.deliveredNext.digest]], 'and go on to the same')

  assert.ok(trust.is_canonical)
  assert.equal(verdicts.documents[0], Buffer.from(signed.payload, 'base64url').toString(), 'what is shown is signed')
  assert.deepEqual(trust.payload, document)
})

test('jwcrypto opens the sealed signing keys with the master key, and with no other', { skip }, async (t) => {
  const kit = await startKit(t)
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  await client.connect()
  type Row = { private_jwe: string; public_jwk: object }
  const { rows } = await client
    .query<Row>('select private_jwe, public_jwk from signing_keys')
    .finally(() => client.end())
  assert.equal(rows.length, 7)
  const open = (kek: string) =>
    askPython<(PrivateJwk | null)[]>('python3-jwcrypto', 'open_jwe.py', { kek, sealed: rows.map((r) => r.private_jwe) })
  const opened = await open(kit.secrets.kek.key.export().toString('base64url'))
  for (const [i, key] of opened.entries()) {
    const { d, ...rest } = key!
    assert.ok(d)
    assert.deepEqual({ ...rest, ...rows[i]!.public_jwk }, rest, 'the private half of the published key')
  }
  assert.deepEqual(await open(Buffer.alloc(32, 7).toString('base64url')), Array(rows.length).fill(null))
})
