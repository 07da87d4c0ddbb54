import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startControl } from '../../test/support/device-control-plane.ts'
import { contentFor, createIssuer, digestOf, makeKey, peerOf } from '../../test/support/issuer.ts'
import { type Answered, startServer } from '../../test/support/scripted-server.ts'
import { openGateway } from '../index.ts'

/** Faults of data that the control plane signs or names. */
const faults = ['forged', 'altered', 'old', 'foreign', 'expired', 'disguised'] as const
type Fault = (typeof faults)[number]
/** Takes valid data, then data with the fault, and then returns the held data. */
type Subject = { take: (fault: Fault | undefined) => Promise<unknown>; held: () => unknown }
type Kind = { open: (t: TestContext) => Promise<Subject>; codes: Record<Fault, string> }

const signed = {
  forged: 'unknown_key',
  altered: 'bad_signature',
  old: 'rollback',
  foreign: 'wrong_tenant',
  expired: 'expired',
  disguised: 'wrong_type',
}
const altered = (jws: string) => `${jws.slice(0, -8)}AAAAAAAA`
/** Claims, key and type that produce each fault in signed data. */
const bend = (fault: Fault | undefined, now: Date, purpose: 'policy' | 'gateway-policy') => ({
  claims: {
    ...(fault === 'old' && { seq: 1 }),
    ...(fault === 'foreign' && { tenant_id: 'tnt_b' }),
    ...(fault === 'expired' && { exp: Math.floor(now.getTime() / 1000), expires_at: now.toISOString() }),
  },
  by: { ...(fault === 'forged' && { key: makeKey(purpose) }), ...(fault === 'disguised' && { typ: 'trust-set+jws' }) },
  after: fault === 'altered' ? altered : (jws: string) => jws,
})

const content = contentFor('a')
const variants = { [digestOf(content)]: content }
const peers = (...ids: string[]) => ids.map((id) => peerOf(id, digestOf(content)))
const good = { peers: peers('dev_7') }

/** Starts a gateway that gets the test's data after a valid snapshot of seq 5. */
async function startGateway(t: TestContext) {
  const now = new Date('2030-01-01T00:00:00Z')
  const issuer = createIssuer({ now: () => now })
  const trust = await issuer.trustSet()
  const next = { policy: '', chunk: good as object }
  const server = await startServer(t, ({ path }): Answered => {
    if (path.endsWith('/trust-anchors')) return { body: trust }
    if (path.includes('/chunks/')) return { body: next.chunk }
    return { body: { kind: '', seq: 0, base_seq: null, policy: next.policy, poll_seconds: 1 } }
  })
  const { tenantId } = issuer
  const gateway = openGateway({
    baseUrl: server.baseUrl,
    secret: 'hfg_x',
    gatewayId: 'gwy_a',
    tenantId,
    now: () => now,
  })
  next.policy = await issuer.gatewayPolicy({ seq: 5, variants, peers: peers('dev_1', 'dev_2') })
  await gateway.pull()
  const give = async (policy: object, fault: Fault | undefined) => {
    const { claims, by, after } = bend(fault, now, 'gateway-policy')
    next.policy = after(await issuer.gatewayPolicy({ variants, seq: 6, ...policy, ...claims }, by))
    await gateway.pull()
  }
  return { gateway, next, give, held: () => structuredClone(gateway.state) }
}

/** Starts a device with accepted data of seq 5, which then requests the path. */
async function startDevice(t: TestContext) {
  const control = await startControl(t)
  control.seq = 5
  const device = await control.enrollNow()
  await device.fetchBundle()
  const now = control.clock.now
  return { control, device, now, issuer: control.issuer }
}

const kinds: Record<string, Kind> = {
  snapshot: {
    codes: signed,
    open: async (t) => {
      const { give, held } = await startGateway(t)
      return { held, take: (fault) => give({ peers: peers('dev_9') }, fault) }
    },
  },
  delta: {
    codes: signed,
    open: async (t) => {
      const { give, held } = await startGateway(t)
      return { held, take: (fault) => give({ kind: 'delta', base_seq: 5, peers: peers('dev_9') }, fault) }
    },
  },
  chunk: {
    // A chunk either matches the digest in the signed snapshot or not.
    codes: { ...signed, ...Object.fromEntries(faults.map((fault) => [fault, 'wrong_digest'])) },
    open: async (t) => {
      const { give, next, held } = await startGateway(t)
      const bent: Record<Fault, object> = {
        forged: { peers: peers('dev_7', 'dev_evil') },
        altered: { peers: [{ ...good.peers[0], addresses: ['0.0.0.0/0'] }] },
        old: { peers: peers('dev_old') },
        foreign: { peers: peers('dev_of_another_tenant') },
        expired: { peers: [] },
        disguised: { peers: good.peers, variants },
      }
      return {
        held,
        take: async (fault) => {
          next.chunk = fault ? bent[fault] : good
          await give({ chunks: [{ digest: digestOf(good), bytes: 1 }] }, undefined)
        },
      }
    },
  },
  directory: {
    codes: signed,
    open: async (t) => {
      const { control, device, now, issuer } = await startDevice(t)
      const give = async (seq: number, fault?: Fault) => {
        const { claims, by, after } = bend(fault, now, 'policy')
        const directory = after(await issuer.directory({ seq, ...claims }, by))
        control.instead['/v1/gateway/pools'] = () => ({ body: { directory } })
        return device.fetchDirectory()
      }
      await give(5)
      return { held: () => device.directory, take: (fault) => give(6, fault) }
    },
  },
  ...Object.fromEntries(
    (['pointer', 'bundle'] as const).map((part): [string, Kind] => [
      part,
      {
        // The pointer names the newest content, so an old bundle has another digest.
        codes: part === 'bundle' ? { ...signed, old: 'wrong_digest' } : signed,
        open: async (t) => {
          const { control, device, now, issuer } = await startDevice(t)
          return {
            held: () => device.policy,
            take: async (fault) => {
              const { claims, by, after } = bend(fault, now, 'policy')
              const next = contentFor('r2')
              const digest = digestOf(next)
              const own = <T>(of: typeof part, bent: T, straight: T) => (of === part ? bent : straight)
              const sent = part === 'bundle' && fault === 'old' ? control.content : next
              const pointer = await issuer.pointer(
                { digest, seq: 6, ...own('pointer', claims, {}) },
                own('pointer', by, {}),
              )
              const bundle = await issuer.bundle(sent, own('bundle', claims, {}), own('bundle', by, {}))
              const body = {
                channel: 'stable',
                version: 1,
                seq: 6,
                digest,
                pointer: own('pointer', after, String)(pointer),
                bundle: own('bundle', after, String)(bundle),
              }
              control.instead['/v1/policy/bundle'] = () => ({ body })
              return device.fetchBundle()
            },
          }
        },
      },
    ]),
  ),
}

for (const [kind, { open, codes }] of Object.entries(kinds))
  test(`a ${kind} that is ${faults.join(', ')}: refused by name, what was held stays, and a good one is taken`, async (t) => {
    const { take, held } = await open(t)
    const before = held()
    assert.ok(before)
    for (const fault of faults) {
      await assert.rejects(take(fault), { name: 'VerificationError', code: codes[fault] }, fault)
      assert.deepEqual(held(), before, fault)
    }
    await take(undefined)
    assert.notDeepEqual(held(), before)
  })
