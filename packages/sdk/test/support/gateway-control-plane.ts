import type { TestContext } from 'node:test'
import { openGateway } from '../../src/index.ts'
import { contentFor, createIssuer, digestOf, peerOf } from './issuer.ts'
import { type Answered, type Asked, startServer } from './scripted-server.ts'

export const content = contentFor('a')
export const variant = digestOf(content)

/** Starts a control plane for one gateway, with real signatures. The test sets the time. */
export async function startGatewayControl(t: TestContext) {
  const clock = { now: new Date('2030-01-01T00:00:00Z') }
  const issuer = createIssuer({ now: () => clock.now })
  const control = {
    clock,
    issuer,
    trust: await issuer.trustSet(),
    seq: 1,
    peers: ['dev_1'],
    /** The next answers, instead of correct ones. */
    policies: [] as string[],
    metering: [] as Answered[],
    /** Fields that it refuses by name, as a server of an earlier version. */
    unknown: [] as string[],
    /** Answers that replace all others. */
    instead: (_: Asked): Answered | undefined => undefined,
  }
  const policyFor = async ({ search }: Asked): Promise<Answered> => {
    const since = new URLSearchParams(search).get('since')
    if (since !== null && Number(since) === control.seq && control.policies.length === 0) return { status: 304 }
    const snapshot = {
      seq: control.seq,
      variants: { [variant]: content },
      peers: control.peers.map((id) => peerOf(id, variant)),
    }
    const delta = { ...snapshot, kind: 'delta', base_seq: Number(since) }
    const policy = control.policies.shift() ?? (await issuer.gatewayPolicy(since === null ? snapshot : delta))
    return { body: { kind: 'snapshot', seq: 0, base_seq: null, policy, poll_seconds: 1 } }
  }
  const server = await startServer(t, (asked) => {
    const other = control.instead(asked)
    if (other) return other
    if (asked.headers.authorization !== 'Bearer hfg_x')
      return { status: 401, body: { error: 'unauthorized', detail: 'missing or invalid credentials' } }
    const unknown = control.unknown.filter((field) => Object.hasOwn((asked.body ?? {}) as object, field))
    const errors = unknown.map((field) => ({ field, message: 'is not a known field' }))
    if (errors.length > 0) return { status: 422, body: { error: 'validation_error', detail: 'unknown', errors } }
    if (asked.path === '/v1/gateway/runtime/trust-anchors') return { body: control.trust }
    if (asked.path === '/v1/gateway/runtime/unified-policy') return policyFor(asked)
    if (asked.path === '/v1/gateway/metering')
      return control.metering.shift() ?? { body: { accepted: 1, duplicate: 0, rejected: [], unknown_resources: [] } }
    return { body: { status: 'healthy', server_time: '', next_heartbeat_seconds: 10 } }
  })
  const open = (secret: string | (() => string) = 'hfg_x') =>
    openGateway({
      baseUrl: server.baseUrl,
      secret,
      gatewayId: 'gwy_a',
      tenantId: issuer.tenantId,
      now: () => clock.now,
      random: () => 0,
    })
  const asks = (path: string) => server.asked.filter((a) => a.path.endsWith(path))
  return Object.assign(control, { open, asks })
}
