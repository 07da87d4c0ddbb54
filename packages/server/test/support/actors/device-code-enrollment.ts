import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { DeviceCodeUse } from '@holdfast/contract/vocabulary'
import { generateKey, type PrivateJwk, readToken, thumbprint } from '@holdfast/crypto'
import { changeIdentityProvider, changeSecuritySettings } from '@holdfast/sdk'
import { decodeId } from '../../../src/kernel/ids.ts'
import { createClock, type Kit, startKit } from '../deployment/deployment.ts'
import { startHostileProvider } from '../providers/hostile-oidc-provider.ts'
import {
  bearer,
  type Caller,
  call,
  challengeFrom,
  deviceCaller,
  operation,
  type Raw,
  type Reached,
} from './all-callers.ts'

export const statusIn = ({ status, json, text }: Raw) => (status === 200 ? json.status : `${status} ${text}`)

/** An enrolling machine: its challenge, its key, and the replica that it talks to. */
export type Machine = { challenge: string; key: PrivateJwk; on: Reached }

/** A deployment on two replicas, with a provider through which Ada's machines enroll. The clock is set by the test. */
export async function startGrants(
  t: TestContext,
  {
    device_code = 'on',
    route,
  }: { device_code?: DeviceCodeUse; route?: (url: string, n: number) => Promise<string> } = {},
) {
  const clock = createClock()
  const idp = await startHostileProvider(t)
  Object.assign(idp.changed, idp.deviceEndpoint)
  const config = { allowedPrivateCidrs: ['127.0.0.0/8'] }
  const kit = await startKit(t, { replicas: 2, now: clock.now, config, ...(route && { route }) })
  const claims = { username: 'preferred_username', email: 'email', display_name: 'name', groups: 'groups' }
  const provider = await kit.admin.createIdentityProvider({
    body: {
      kind: 'oidc',
      name: 'staff',
      enrollment: true,
      provisioning: 'create',
      claims,
      oidc: { issuer: idp.issuer, client_id: 'holdfast', client_secret: 'known to two', device_code },
    },
  })
  const params = { provider_id: provider.provider_id }
  await changeSecuritySettings(kit.admin, { login: { max_failures_per_ip: 10_000, window_seconds: 10 } })
  const { secret: token } = await kit.admin.generateToken({ body: { kind: 'bootstrap', max_uses: 0 } })

  const newMachine = async (on: Reached = kit): Promise<Machine> => ({
    challenge: await challengeFrom(on, bearer(token)),
    key: generateKey('ES256').privateJwk,
    on,
  })
  const callerOf = ({ challenge, key }: Machine) => deviceCaller(challenge, key, clock.now)
  const begin = (m: Machine, body: object = {}, headers: Record<string, string> = {}): Promise<Raw> =>
    call(m.on, operation('beginDeviceCode'), (method, url) => ({ ...callerOf(m)(method, url), ...headers }), {
      ...params,
      ...body,
    })
  const status = (m: Machine, headers: Record<string, string> = {}): Promise<Raw> =>
    call(m.on, operation('deviceCodeStatus'), (method, url) => ({ ...callerOf(m)(method, url), ...headers }))
  const finish = (m: Machine, body: object = {}, headers: Record<string, string> = {}): Promise<Raw> =>
    call(m.on, operation('enrollByDeviceCode'), (method, url) => ({ ...callerOf(m)(method, url), ...headers }), {
      device: { name: 'build-server', platform: 'linux' },
      ...body,
    })
  /** A machine that waits for approval, with the device code of the provider. */
  const begun = async (on?: Reached): Promise<Machine & { code: string }> => {
    const machine = await newMachine(on)
    const answer = await begin(machine)
    assert.equal(answer.status, 201, answer.text)
    return { ...machine, code: idp.deviceCodes.at(-1) ?? '' }
  }
  /** Ada approves; `claims` replace the valid ones. */
  const approve = async ({ code }: { code: string }, claims: Record<string, unknown> = {}) => {
    const iat = Math.floor(clock.now().getTime() / 1000)
    const ada = { sub: 'sub-of-ada', preferred_username: 'ada' }
    idp.decisions.set(code, { idToken: await idp.idToken({ ...ada, iat, exp: iat + 300, ...claims }) })
  }
  return {
    kit,
    clock,
    idp,
    provider,
    params,
    token,
    newMachine,
    begin,
    status,
    finish,
    begun,
    approve,
    second: { ...kit, ...kit.replicas[1]! } as Kit,
    /** Number of token requests to the provider so far. */
    asked: () => idp.hitsOf('/token'),
    set: (named: Parameters<typeof changeIdentityProvider>[2]) => changeIdentityProvider(kit.admin, { params }, named),
    /** The reasons of the newest refused enrollments, newest first. */
    reasons: async (limit = 1) =>
      (await kit.admin.listAuditEvents({ query: { kind: 'device.enrollment_refused', limit } })).items.map((e) =>
        'reason' in e ? e.reason : undefined,
      ),
    row: (m: Machine) =>
      kit.db.inTenant(kit.tenant, (tx) =>
        tx
          .selectFrom('device_grants')
          .selectAll()
          .where('tenant_id', '=', kit.tenant)
          .where('jkt', '=', thumbprint(m.key))
          .executeTakeFirst(),
      ),
  }
}

/** Inserts a machine that waits for approval; its provider is never asked. */
export async function plantGrant(kit: Kit, token: string, providerId: string): Promise<Caller> {
  const { privateJwk } = generateKey('ES256')
  const challenge = await challengeFrom(kit, bearer(token))
  const later = new Date(Date.now() + 600_000)
  await kit.db.inTenant(kit.tenant, (tx) =>
    tx
      .insertInto('device_grants')
      .values({
        tenant_id: kit.tenant,
        provider_id: decodeId('identity_provider', providerId)!,
        source: '192.0.2.1',
        ticket: readToken(kit.peppers, challenge)!.digest,
        jkt: thumbprint(privateJwk),
        state: 'pending',
        end_reason: null,
        secret_jwe: 'x',
        interval_seconds: 5,
        poller: null,
        next_poll_at: later,
        expires_at: later,
      })
      .execute(),
  )
  return deviceCaller(challenge, privateJwk)
}
