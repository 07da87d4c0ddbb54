import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { deviceStatusHeader } from '@holdfast/contract/vocabulary'
import { type PublicJwk, thumbprint, verifyProof } from '@holdfast/crypto'
import { type DeviceOptions, type DeviceState, enrollDevice } from '../../src/index.ts'
import { contentFor, createIssuer, digestOf } from './issuer.ts'
import { type Answered, type Asked, startServer } from './scripted-server.ts'

export const token = 'hfe_token'
export const day = 86_400_000

/** Starts a control plane for one device, with real keys and proof checks by RFC 9449. The test sets the time. */
export async function startControl(t: TestContext) {
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
    /** Status that the device gets. */
    standing: 'active' as 'active' | 'pending' | 'suspended' | 'revoked',
    trust: await issuer.trustSet(),
    loseAnswers: 0,
    /** Answers that replace the usual ones. */
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
  const told = (answer: Answered): Answered => {
    if (answer === 'hang up' || control.standing === 'active') return answer
    return { ...answer, headers: { ...answer.headers, [deviceStatusHeader]: control.standing } }
  }
  const server = await startServer(t, async (asked) => {
    if (asked.path !== '/v1/enroll') {
      if (asked.headers.authorization !== `Bearer ${control.credential}`) return refusal
      try {
        proven(asked, control.credential, control.jkt)
      } catch {
        return refusal
      }
      if (control.standing === 'suspended' || control.standing === 'revoked') return told(refusal)
    }
    const answer = (await control.instead[asked.path]?.(asked)) ?? (await routes[asked.path]?.(asked))
    if (control.loseAnswers > 0) {
      control.loseAnswers--
      return 'hang up'
    }
    return told(answer ?? { status: 404 })
  })
  const saved: DeviceState[] = []
  const enrollNow = (more: DeviceOptions = {}) =>
    enrollDevice({
      baseUrl: server.baseUrl,
      token,
      device: { name: 'laptop', platform: 'linux' },
      store: { save: (state) => void saved.push(structuredClone(state)) },
      now,
      random: () => 0,
      ...more,
    })
  const asks = (path: string) => server.asked.filter((a) => a.path === path)
  return Object.assign(control, { ...server, saved, enrollNow, asks })
}
