import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { enrollmentNonce, generateKey, type PrivateJwk, thumbprint } from '@holdfast/crypto'
import { type Client, changeSecuritySettings } from '@holdfast/sdk'
import { createClock, startKit } from '../deployment/deployment.ts'
import { promptly } from '../deployment/wait-until.ts'
import { startHostileProvider } from '../providers/hostile-oidc-provider.ts'
import { bearer, call, challengeFrom, deviceCaller, operation, type Raw, type Reached } from './all-callers.ts'

/** A deployment on two replicas, with a provider through which Ada enrolls. */
export async function start(t: TestContext) {
  const clock = createClock()
  const idp = await startHostileProvider(t)
  const kit = await startKit(t, { replicas: 2, now: clock.now, config: { allowedPrivateCidrs: ['127.0.0.0/8'] } })
  const provider = await kit.admin.createIdentityProvider({
    body: {
      kind: 'oidc',
      name: 'staff',
      enrollment: true,
      oidc: { issuer: idp.issuer, client_id: 'holdfast', mobile_client_ids: ['phone', 'laptop'] },
    },
  })
  await changeSecuritySettings(kit.admin, { login: { max_failures_per_ip: 10_000, window_seconds: 10 } })
  const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: { username: 'ada' } } })
  const body = { provider_id: provider.provider_id, subject: 'sub-of-ada' }
  await kit.admin.linkUserIdentity({ params: { user_id: user.user_id }, body })
  const { secret: token } = await kit.admin.generateToken({ body: { kind: 'bootstrap', max_uses: 0 } })
  return { kit, clock, idp, provider, user, token }
}
export type World = Awaited<ReturnType<typeof start>>

export const newKey = () => generateKey('ES256').privateJwk
export type Attempt = {
  challenge: string
  key: PrivateJwk
  claims?: Record<string, unknown>
  body?: Record<string, unknown>
  on?: Reached
  headers?: Record<string, string>
}
/** An ID token of Ada's, for her phone, issued now. */
export function tokenFor(
  { idp, clock }: Pick<World, 'idp' | 'clock'>,
  claims: Record<string, unknown>,
): Promise<string> {
  const now = Math.floor(clock.now().getTime() / 1000)
  return idp.idToken({ aud: 'phone', sub: 'sub-of-ada', iat: now, exp: now + 300, ...claims })
}
/** Signs in for a challenge and a key, and enrolls. Given values replace the valid ones. */
export async function attempt(
  w: World,
  { challenge, key, claims = {}, body = {}, on = w.kit, headers = {} }: Attempt,
): Promise<Raw> {
  const nonce = enrollmentNonce(challenge, thumbprint(key))
  const id_token = 'id_token' in body || 'code' in body ? undefined : await tokenFor(w, { nonce, ...claims })
  const caller = (method: string, url: string) => ({
    ...deviceCaller(challenge, key, w.clock.now)(method, url),
    ...headers,
  })
  return call(on, operation('enrollByOidc'), caller, {
    provider_id: w.provider.provider_id,
    id_token,
    device: { name: 'phone', platform: 'ios' },
    ...body,
  })
}
export const challengeOf = ({ kit, token }: World) => challengeFrom(kit, bearer(token))
export const fresh = async (w: World, more: Partial<Attempt> = {}) =>
  attempt(w, { challenge: await challengeOf(w), key: newKey(), ...more })
/** The reason of the last refusal from the audit log. Its event may be written after the answer. */
export async function reasons(admin: Client, answer: Raw): Promise<unknown[]> {
  const query = { request_id: String(answer.headers['x-request-id']) }
  for (const giveUp = performance.now() + promptly; ; await delay(20)) {
    const { items } = await admin.listAuditEvents({ query })
    if (items.length > 0 || performance.now() > giveUp) return items.map((e) => ('reason' in e ? e.reason : e.kind))
  }
}
