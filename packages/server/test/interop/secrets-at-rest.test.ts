import assert from 'node:assert/strict'
import { test } from 'node:test'
import { unseal } from '@holdfast/crypto'
import { changeNotificationSettings } from '@holdfast/sdk'
import pg from 'pg'
import { call, operation, populate } from '../support/actors/all-callers.ts'
import { createAuthenticator, makeUser, passwordOf, signInAs } from '../support/actors/people.ts'
import { type Cell, readEverything } from '../support/database/all-values.ts'
import { adminPassword, createClock, type Kit, startKit } from '../support/deployment/deployment.ts'

async function readDatabase(kit: Kit) {
  const client = new pg.Client({ connectionString: kit.databaseUrl })
  await client.connect()
  try {
    type Key = { kid: string; private_jwe: string; x: string }
    const keys = await client.query<Key>(`select kid, private_jwe, public_jwk->>'x' as x from signing_keys`)
    return { cells: await readEverything(client), keys: keys.rows }
  } finally {
    await client.end()
  }
}

/** The secret itself and the ways in which it could be written down. */
function formsOf(secret: Buffer): Buffer[] {
  const texts = [secret.toString('hex'), secret.toString('base64').replace(/=+$/, ''), secret.toString('base64url')]
  return [
    secret,
    ...texts.map((text) => Buffer.from(text)),
    Buffer.from(JSON.stringify(secret.toString()).slice(1, -1)),
  ]
}
const holding = (cells: Cell[], secret: Buffer): string[] => {
  const forms = formsOf(secret)
  const found = cells.filter(({ bytes }) => forms.some((form) => bytes.includes(form)))
  return [...new Set(found.map(({ relation, column }) => `${relation}.${column}`))].sort()
}

/** Uses everything that has a secret. Returns these secrets. */
async function useEverySecret(kit: Kit, advance: (seconds: number) => void, now: () => Date) {
  const { admin } = kit
  const { token, secret, device, ids } = await populate(kit, admin)
  const created = await admin.createApiKey({ body: { name: 'another', role: 'viewer' } })
  const rotated = await admin.rotateGatewaySecret({ params: { gateway_id: ids.gateway_id } })
  const notifying = await changeNotificationSettings(admin, {
    webhook: { enabled: true, url: 'https://hooks.example.com/holdfast' },
  })
  // The sealed answer is stored for a repetition of the request.
  const repeatable = () => ({ authorization: `Bearer ${kit.adminKey}`, 'idempotency-key': 'a-key-of-the-test' })
  const again = await call(kit, operation('generateToken'), repeatable, { name: 'kept' })
  assert.equal(again.status, 201, again.text)
  await makeUser(kit, 'ana')
  const person = await signInAs(kit, 'ana')
  const begun = await person.post('/v1/admin/users/totp/enroll', { current_password: passwordOf('ana') })
  const app = createAuthenticator(begun.json.secret, now)
  const verified = await person.post('/v1/admin/users/totp/verify', { code: app.code() })
  assert.equal(verified.status, 200, verified.text)
  advance(30)
  const cookie = person.cookie().split('=')[1]!
  return {
    'API key of the administrator': kit.adminKey,
    'API key': created.secret,
    'gateway secret': secret,
    'next gateway secret': rotated.secret,
    'enrollment token': token,
    'enrollment token of a kept answer': String(again.json.secret),
    'device credential': device.credential,
    'private key of the device': device.key.d,
    'password of the first administrator': adminPassword,
    'password of a user': passwordOf('ana'),
    'seed of the authenticator': String(begun.json.secret),
    'recovery code': String(verified.json.recovery_codes[0]),
    'session cookie': cookie,
    'signing secret of the webhook': String(notifying.secret),
  }
}

test('nothing that is secret is in any column of the database, nor in the log', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const secrets = await useEverySecret(kit, clock.advance, clock.now)
  for (const [what, secret] of Object.entries(secrets))
    assert.ok(secret.length >= 15, `${what}: ${secret.length} characters`)

  const { cells, keys } = await readDatabase(kit)
  assert.deepEqual(
    holding(cells, Buffer.from('ana')).includes('users.username'),
    true,
    'the search finds what is there',
  )
  const [known] = cells.filter((c) => `${c.relation}.${c.column}` === 'api_keys.secret_digest')
  assert.ok(holding(cells, known!.bytes).includes('api_keys.secret_digest'), 'also in columns of bytes')

  assert.ok(
    cells.some((c) => `${c.relation}.${c.column}` === 'idempotency_keys.answer_jwe'),
    'an answer was kept',
  )

  const log = kit.logs.join('\n')
  for (const [what, secret] of Object.entries(secrets)) {
    assert.deepEqual([what, holding(cells, Buffer.from(secret))], [what, []])
    assert.ok(!log.includes(secret), `${what}: not logged`)
  }
  for (const [what, bytes] of [
    ['pepper', kit.peppers.current.key.export()],
    ['key of the cursors', kit.secrets.masterKeys[0].cursorKey.export()],
    ['master key', kit.secrets.kek.key.export()],
  ] as const)
    assert.deepEqual([what, holding(cells, Buffer.from(bytes))], [what, []])

  assert.equal(keys.length, 8)
  for (const { kid, private_jwe, x } of keys) {
    const opened = await unseal(kit.secrets.kek, `signing_keys/${kid}/private_jwe`, private_jwe)
    const { d } = JSON.parse(opened.toString()) as { d: string }
    assert.deepEqual(holding(cells, Buffer.from(d, 'base64url')), [])
    assert.ok(
      holding(cells, Buffer.from(x, 'base64url')).includes('signing_keys.public_jwk'),
      'its public half is there',
    )
  }
  const shapes =
    /-----BEGIN [A-Z ]*PRIVATE KEY-----|"d"\s*:\s*"[\w-]{40,}"|hf[kge]_[0-9A-Za-z]{54}|\b[0-9a-f]{4}(-[0-9a-f]{4}){7}\b/
  for (const { relation, column, bytes } of cells)
    assert.doesNotMatch(bytes.toString('latin1'), shapes, `${relation}.${column}`)
})
