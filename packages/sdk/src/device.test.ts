import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type PublicJwk, thumbprint, verifyProof } from '@holdfast/crypto'
import { type DevicePolicy, type DeviceState, enrollDevice, openDevice } from './index.ts'
import { contentFor, createIssuer, digestOf, makeKey } from './test-issuer.ts'
import { type Answered, type Asked, startServer } from './test-server.ts'

const token = 'hfe_token'
const day = 86_400_000

/** A control plane for one device, with real keys and proofs checked as RFC 9449 says; time is what the test says. */
async function startControl(t: TestContext) {
  const clock = { now: new Date('2030-01-01T00:00:00Z') }
  const now = () => clock.now
  const issuer = createIssuer({ now })
  const control = {
    clock,
    issuer,
    content: contentFor('r1'),
    seq: 1,
    credential: 'cred-1',
    jkt: '',
    trust: await issuer.trustSet(),
    loseAnswers: 0,
    /** Answers in place of the usual one. */
    instead: {} as Record<string, (asked: Asked) => Answered | undefined | Promise<Answered | undefined>>,
    replays: new Map<string, Answered>(),
  }
  const refusal: Answered = { status: 401, body: { error: 'unauthorized', detail: 'missing or invalid credentials' } }
  const proven = ({ method, url, headers }: Asked, accessToken: string, jkt?: string) =>
    verifyProof({ proofs: String(headers.dpop), method, url, accessToken, now: now(), ...(jkt && { jkt }) })
  const credential = (): Answered => ({
    status: 201,
    body: {
      device_id: 'dev_1',
      tenant_id: issuer.tenantId,
      user_id: null,
      status: 'active',
      credential: control.credential,
      token_type: 'Bearer',
      binding: 'dpop',
      expires_at: new Date(now().getTime() + 30 * day).toISOString(),
      renew_after: new Date(now().getTime() + 20 * day).toISOString(),
      trust_anchor_version: control.trust.version,
    },
  })
  const delivered = async () => {
    const digest = digestOf(control.content)
    return {
      digest,
      channel: 'stable',
      version: 1,
      seq: control.seq,
      pointer: await issuer.pointer({ digest, seq: control.seq }),
    }
  }
  const routes: Record<string, (asked: Asked) => Answered | Promise<Answered>> = {
    '/v1/enroll': (asked) => {
      const key = String(asked.headers['idempotency-key'])
      const replay = control.replays.get(key)
      if (replay) return replay
      control.jkt = proven(asked, token).jkt
      control.replays.set(key, credential())
      return credential()
    },
    '/v1/enroll/renew': ({ method, url, headers, body }) => {
      const { new_public_key } = body as { new_public_key?: PublicJwk }
      if (new_public_key) {
        const accessToken = control.credential
        const proof = verifyProof({ proofs: String(headers['dpop-new-key']), method, url, accessToken, now: now() })
        assert.equal(proof.jkt, thumbprint(new_public_key))
        control.jkt = proof.jkt
      }
      control.credential = `cred-${Number(control.credential.slice(5)) + 1}`
      return { ...(credential() as object), status: 200 }
    },
    '/v1/trust/anchors': () => ({ body: control.trust }),
    '/v1/policy/digest': async ({ headers }) => {
      const etag = `"${digestOf(control.content)}"`
      if (headers['if-none-match'] === etag) return { status: 304, headers: { etag } }
      return { headers: { etag }, body: { ...(await delivered()), poll_seconds: 1 } }
    },
    '/v1/policy/bundle': async ({ headers }) => {
      const etag = `"${digestOf(control.content)}"`
      if (headers['if-none-match'] === etag) return { status: 304, headers: { etag } }
      return { headers: { etag }, body: { ...(await delivered()), bundle: await issuer.bundle(control.content) } }
    },
    '/v1/posture/report': () => ({
      body: { verdict: 'compliant', reported_at: '', next_report_before: null, checks: [] },
    }),
  }
  const server = await startServer(t, async (asked) => {
    if (asked.path !== '/v1/enroll') {
      if (asked.headers.authorization !== `Bearer ${control.credential}`) return refusal
      proven(asked, control.credential, control.jkt)
    }
    const answer = (await control.instead[asked.path]?.(asked)) ?? (await routes[asked.path]?.(asked))
    if (control.loseAnswers > 0) {
      control.loseAnswers--
      return 'hang up'
    }
    return answer ?? { status: 404 }
  })
  const saved: DeviceState[] = []
  const enrollNow = () =>
    enrollDevice({
      baseUrl: server.baseUrl,
      token,
      device: { name: 'laptop', platform: 'linux' },
      store: { save: (state) => void saved.push(structuredClone(state)) },
      now,
      random: () => 0,
    })
  const asks = (path: string) => server.asked.filter((a) => a.path === path)
  return Object.assign(control, { ...server, saved, enrollNow, asks })
}

test('enrolling proves a key of its own and pins the trust set', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  assert.equal(device.id, 'dev_1')
  const { state } = device
  assert.equal(thumbprint(state.privateJwk), control.jkt)
  assert.deepEqual(state.trust, control.trust)
  assert.deepEqual(control.saved.at(-1), state)
  assert.equal(control.asked[0]?.headers.authorization, `Bearer ${token}`)
})

test('an enrollment whose answer is lost is asked for again under the same key', async (t) => {
  const control = await startControl(t)
  control.loseAnswers = 1
  await control.enrollNow()
  const keys = control.asks('/v1/enroll').map(({ headers }) => headers['idempotency-key'])
  assert.equal(keys.length, 2)
  assert.equal(new Set(keys).size, 1)
})

test('a trust set that its own keys did not sign ends the enrollment', async (t) => {
  const control = await startControl(t)
  control.trust = await control.issuer.trustSet({ signedBy: [makeKey('trust-set')] })
  await assert.rejects(control.enrollNow(), { name: 'VerificationError', code: 'unknown_key' })
})

test('a poll finds the change, the bundle brings it, the next poll is conditional', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  assert.equal(device.policy, null)
  assert.deepEqual(await device.pollDigest(), { changed: true, pollSeconds: 1 })
  assert.deepEqual((await device.fetchBundle()).content, control.content)
  assert.equal((await device.pollDigest()).changed, false)
  assert.equal(control.asks('/v1/policy/digest').at(-1)?.headers['if-none-match'], `"${digestOf(control.content)}"`)

  control.content = contentFor('r2')
  control.seq = 2
  assert.equal((await device.pollDigest()).changed, true)
  assert.equal((await device.fetchBundle()).content.rules[0]?.id, 'r2')
  assert.deepEqual(device.state.accepted, { digest: digestOf(control.content), seq: 2 })
})

test('304 for ever does not freeze a device: after half of its life the pointer is asked for in full', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  await device.fetchBundle()
  control.clock.now = new Date(control.clock.now.getTime() + 29 * 60_000)
  await device.pollDigest()
  assert.ok(control.asks('/v1/policy/digest').at(-1)?.headers['if-none-match'])
  control.clock.now = new Date(control.clock.now.getTime() + 2 * 60_000)
  await device.pollDigest()
  assert.equal(control.asks('/v1/policy/digest').at(-1)?.headers['if-none-match'], undefined)
})

test('a bundle is asked for in full after half of its life, and its longer life is taken', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  const first = await device.fetchBundle()
  assert.equal(device.isBundleDue, false)
  assert.equal(await device.fetchBundle(), first, '304')
  control.clock.now = new Date(control.clock.now.getTime() + day / 2)
  assert.equal(device.isBundleDue, true)
  const second = await device.fetchBundle()
  assert.ok(second.expiresAt > first.expiresAt)
  assert.equal(device.isBundleDue, false)
})

test('what fails verification leaves the last good policy in force, until its end', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  const good = await device.fetchBundle()
  control.content = contentFor('r2')
  control.seq = 0
  await assert.rejects(device.pollDigest(), { name: 'VerificationError', code: 'rollback' })
  control.seq = 2
  control.instead['/v1/policy/bundle'] = async () => ({
    body: {
      channel: 'stable',
      version: 1,
      seq: 2,
      digest: digestOf(control.content),
      pointer: await control.issuer.pointer({ digest: digestOf(control.content), seq: 2 }),
      bundle: await control.issuer.bundle(contentFor('evil')),
    },
  })
  await assert.rejects(device.fetchBundle(), { name: 'VerificationError', code: 'wrong_digest' })
  assert.equal(device.policy, good)
  control.clock.now = good.expiresAt
  assert.equal(device.policy, null)
})

test('a policy by a key that a newer trust set brings is accepted after its refresh', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  const { issuer } = control
  const { keys } = issuer
  keys.policy = makeKey('policy')
  await assert.rejects(device.fetchBundle(), { code: 'unknown_key' })
  control.trust = await issuer.trustSet({ version: 2, published: [keys.policy, keys.trust] })
  assert.ok(await device.fetchBundle())
  assert.equal(device.state.trust.version, 2)
})

test('a saved device goes on where it was: policy, seq and key', async (t) => {
  const control = await startControl(t)
  const first = await control.enrollNow()
  await first.fetchBundle()
  const state: DeviceState = JSON.parse(JSON.stringify(first.state))
  const again = openDevice(state, { now: () => control.clock.now })
  assert.deepEqual(again.policy, first.policy)
  assert.equal((await again.pollDigest()).changed, false)

  const tampered = structuredClone(state)
  tampered.policy!.bundle = await control.issuer.bundle(contentFor('evil'))
  const suspicious = openDevice(tampered, { now: () => control.clock.now })
  assert.equal(suspicious.policy, null)
  control.content = contentFor('r0')
  control.seq = 0
  await assert.rejects(suspicious.fetchBundle(), { code: 'rollback' })
})

test('renewal, with the old key and with a new one', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  const firstKey = thumbprint(device.state.privateJwk)
  await Promise.all([device.renew(), device.renew()])
  assert.equal(device.state.credential, 'cred-2', 'two at once are one')
  assert.equal(thumbprint(device.state.privateJwk), firstKey)
  await device.renew({ rotateKey: true })
  assert.equal(device.state.credential, 'cred-3')
  assert.notEqual(thumbprint(device.state.privateJwk), firstKey)
  assert.equal((await device.reportPosture({ 'disk.encrypted': true })).verdict, 'compliant')
  assert.deepEqual(control.saved.at(-1), device.state)
})

test('a request overtaken by a renewal is sent again with the new credential', async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  control.instead['/v1/posture/report'] = async ({ headers }) => {
    if (headers.authorization !== 'Bearer cred-1') return undefined
    await device.renew()
    return { status: 401, body: { error: 'unauthorized', detail: 'x' } }
  }
  assert.equal((await device.reportPosture({})).verdict, 'compliant')
})

/** Runs the polling until `done` says so of the policies seen. */
async function poll(device: Awaited<ReturnType<typeof openDevice>>, done: (seen: (string | null)[]) => boolean) {
  const abort = new AbortController()
  const seen: (string | null)[] = []
  const errors: unknown[] = []
  const onPolicy = (policy: DevicePolicy | null) => {
    seen.push(policy?.content.rules[0]?.id ?? null)
    if (done(seen)) abort.abort()
  }
  await device.runPolling({ signal: abort.signal, onPolicy, onError: (error) => errors.push(error) })
  return { seen, errors }
}

test('polling brings each policy once, over a failure in between', { timeout: 20_000 }, async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  let fails = 1
  control.instead['/v1/policy/digest'] = ({ headers }) => {
    if (headers['if-none-match'] === undefined) return undefined
    if (fails-- > 0) return { status: 500, body: { error: 'internal_error', detail: 'x' } }
    control.content = contentFor('r2')
    control.seq = 2
    return undefined
  }
  const { seen, errors } = await poll(device, (all) => all.length === 2)
  assert.deepEqual(seen, ['r1', 'r2'])
  assert.equal(errors.length, 1)
})

test('polling renews when it is time', { timeout: 20_000 }, async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  control.trust = await control.issuer.trustSet({ version: 2, expires_at: '2031-01-01T00:00:00Z' })
  control.clock.now = new Date(control.clock.now.getTime() + 21 * day)
  await poll(device, () => true)
  assert.equal(device.state.credential, 'cred-2')
  assert.equal(device.state.trust.version, 2)
})

test('polling ends when the credential is refused and can not be renewed', { timeout: 20_000 }, async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  control.credential = 'cred-9'
  await assert.rejects(
    poll(device, () => false),
    { name: 'ApiError', status: 401 },
  )
  assert.equal(control.asks('/v1/enroll/renew').length, 1)
})

test('the end of the last good policy is told', { timeout: 20_000 }, async (t) => {
  const control = await startControl(t)
  const device = await control.enrollNow()
  const { expiresAt } = await device.fetchBundle()
  control.instead['/v1/policy/digest'] = () => {
    control.clock.now = expiresAt
    return { status: 500, body: { error: 'internal_error', detail: 'x' } }
  }
  assert.deepEqual((await poll(device, (all) => all.includes(null))).seen, ['r1', null])
})
