import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { documentBody, PolicyObject } from './policy-body.ts'
import { Closed, Count, Id, Nullable, OneOf, Time } from './schema.ts'
import { canaryMeasures, gateFailures, gateStates } from './vocabulary.ts'

const perMeasure = <const S extends ReturnType<typeof Type.Number> | typeof Count>(schema: S) =>
  Object.fromEntries(canaryMeasures.map((m) => [m, schema])) as Record<(typeof canaryMeasures)[number], S>

const termsFields = {
  observe_minutes: Type.Integer({
    minimum: 1,
    maximum: 20_160,
    description: 'Minimum time in minutes between the publication and the pass. Default: 60',
  }),
  min_devices: Type.Integer({
    minimum: 5,
    maximum: 100_000,
    description: 'Minimum number of devices that reported on each channel before a verdict. Default: 10',
  }),
  on_failure: OneOf(gateFailures, {
    description:
      '`hold` (default): the canary stays and cannot be promoted. `rollback`: the stable document is published again, which ends the canary',
  }),
}
const rise = Type.Number({ minimum: 0, maximum: 100 })
const rises = perMeasure(rise)
const risesDescription =
  'Percentage points by which the share of devices with problems may be higher on canary than on stable. Default: 5'

export const GateTerms = Closed({
  observe_minutes: Type.Optional(termsFields.observe_minutes),
  min_devices: Type.Optional(termsFields.min_devices),
  on_failure: Type.Optional(termsFields.on_failure),
  max_rise_percent: Type.Optional(
    Type.Partial(Closed(rises), { additionalProperties: false, description: risesDescription }),
  ),
})
export type GateTerms = Static<typeof GateTerms>

export const PolicyGate = Closed(
  {
    ...termsFields,
    max_rise_percent: Closed(rises, { description: risesDescription }),
    state: OneOf(gateStates),
    reason: Nullable(Type.String({ description: 'Reason of the last verdict, in one sentence' })),
    looks: Type.Integer({ minimum: 0, description: 'Number of statistical tests with new figures' }),
    judged_at: Nullable(Time),
  },
  { title: 'PolicyGate' },
)

const counts = perMeasure(Count)
export const ChannelHealth = Closed(
  { devices: Count, ...counts },
  {
    title: 'ChannelHealth',
    description:
      'Devices that connected or failed to connect since the publication of the canary, or for a day. Of these are counted: devices with packets that the policy refused, devices that reported a failed connection or a policy without a pool, and devices that fail a posture check',
  },
)
export type ChannelHealth = Static<typeof ChannelHealth>

export const getPolicyHealth = endpoint({
  method: 'GET',
  path: '/v1/admin/policy/{bundle_id}/health',
  costly: true,
  summary: 'Compare the health of a canary with stable',
  description: 'The answer has the health of the devices on each channel, and the verdict of the gate.',
  access: { by: ['session', 'api_key'], permission: 'policy:read' },
  params: Closed({ bundle_id: Id('policy_bundle') }),
  response: Closed({
    bundle_id: Id('policy_bundle'),
    version: Count,
    running: Type.Boolean({
      description:
        'True: the canary is active, and the figures are current. False: they are those of the last verdict of its gate',
    }),
    since: Type.String({
      format: 'date-time',
      description: 'Start of the counted period: the publication, or a day ago',
    }),
    canary: Nullable(ChannelHealth),
    stable: Nullable(ChannelHealth),
    measures: Type.Array(
      Closed({
        measure: OneOf(canaryMeasures),
        canary_percent: Type.Number({ description: 'Share of devices with this problem on canary, in percent' }),
        stable_percent: Type.Number({ description: 'Share of devices with this problem on stable, in percent' }),
        p_value: Type.Number({
          description:
            'Probability of at least as many devices with problems on canary if both channels were equal (Fisher’s exact test, one-sided)',
        }),
      }),
    ),
    gate: Nullable(PolicyGate),
  }),
})

export const replayPolicy = endpoint({
  method: 'POST',
  path: '/v1/admin/policy/replay',
  costly: true,
  summary: 'Replay past sessions with a policy',
  description:
    'The answer has the sessions of the last days that the document would have blocked, by the resources that they used.',
  access: { by: ['session', 'api_key'], permission: 'policy:read' },
  audit: 'policy.replayed',
  bodyNames: 100_000,
  bodyLimit: documentBody,
  body: Closed({
    policy: PolicyObject,
    days: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 90, description: 'Number of days before now. Default: 7' }),
    ),
  }),
  response: Closed({
    sessions_examined: Count,
    sessions_skipped: Type.Integer({
      minimum: 0,
      description: 'Number of sessions that were not examined, because the device is revoked, suspended or locked now',
    }),
    complete: Type.Boolean({
      description: 'True: examined and skipped sessions are all sessions of the period. False: they are the newest',
    }),
    sessions_blocked: Count,
    devices_blocked: Count,
    users_blocked: Count,
    resources: Type.Array(Closed({ resource: Type.String(), sessions: Count, users: Count }), {
      description: 'Resources that would be blocked, most sessions first; at most 100',
    }),
    blocked: Type.Array(
      Closed({
        session_id: Id('vpn_session'),
        device_id: Id('device'),
        user_id: Nullable(Id('user')),
        started_at: Time,
        resource: Type.String(),
        reason: Type.String(),
      }),
      { description: 'Newest blocked sessions, each with one of its resources; at most 100' },
    ),
  }),
})
