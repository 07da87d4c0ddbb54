import { Type } from 'typebox'
import { Channel, PostureVerdict } from './devices.ts'
import { endpoint } from './endpoint.ts'
import { Platform } from './enrollment-fields.ts'
import { PostureFacts } from './posture-facts.ts'
import { Closed, Count, Id, Nullable, OneOf, Time } from './schema.ts'

export const reportPosture = endpoint({
  method: 'POST',
  path: '/v1/posture/report',
  summary: 'Report the posture of the device; the answer lists the failed checks and their remediation',
  access: { by: ['device'], permission: 'own' },
  audit: 'posture.reported',
  records: 'refusals',
  body: Closed({
    facts: PostureFacts,
  }),
  response: Closed({
    verdict: PostureVerdict,
    reported_at: Time,
    next_report_before: Nullable(Time),
    checks: Type.Array(Closed({ id: Type.String(), passed: Type.Boolean(), remediation: Nullable(Type.String()) })),
  }),
})

export const attestationStatuses = ['none', 'affirming', 'warning', 'contraindicated'] as const

export const postureAssertion = endpoint({
  method: 'GET',
  path: '/v1/posture/assertion',
  summary:
    'Posture assertion of a device, signed (eat+jwt) for a relying party; a device gets its own, other callers name a device',
  access: { by: ['device', 'session', 'api_key'], permission: 'posture:read' },
  query: Closed({
    device_id: Type.Optional(Id('device')),
    user_id: Type.Optional(Id('user')),
    nonce: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9_-]+$',
        minLength: 11,
        maxLength: 86,
        description:
          '8 to 64 bytes, base64url without padding: returned as `eat_nonce`, so that an assertion cannot be replayed',
      }),
    ),
  }),
  response: Closed({
    assertion: Type.String({ description: 'JWS over an EAT attestation result' }),
    expires_at: Time,
    status: OneOf(attestationStatuses, {
      description:
        'affirming: a report of the last hour passes every check; warning: it is older, or leaves a check open; ' +
        'contraindicated: an enforced check fails, or device or user are shut out; none: there is nothing to say',
    }),
    reasons: Type.Array(
      Closed({
        code: OneOf([
          'device_pending',
          'device_suspended',
          'device_revoked',
          'user_suspended',
          'no_report',
          'stale_report',
          'nothing_checked',
          'check_failed',
          'check_unknown',
        ]),
        check_id: Nullable(Type.String()),
      }),
      { description: 'Reasons why it is not affirming; of a check only its name' },
    ),
  }),
})

/** `valid_until`: when the outcome may change without another report. */
const Check = Closed({
  check_id: Type.String(),
  applies: Type.Boolean({ description: 'Whether the check speaks of the platform of the device' }),
  passed: Type.Boolean(),
  reason_code: OneOf(['passed', 'not_applicable', 'failed', 'no_report', 'stale_report', 'fact_missing']),
  expected: Type.String({ description: 'The expression of the check' }),
  actual: Type.Record(Type.String(), Type.Unknown(), {
    description: 'What was reported of the facts that it reads; null: nothing',
  }),
  observed_at: Nullable(Time),
  valid_until: Nullable(Time),
  freshness_seconds: Count,
  platforms: Nullable(Type.Array(Type.String(), { description: 'null: every platform' })),
  severity: OneOf(['low', 'medium', 'high', 'critical']),
  enforcement: OneOf(['audit', 'warn', 'enforce']),
  remediation: Nullable(Type.String()),
})

export const getDevicePosture = endpoint({
  method: 'GET',
  path: '/v1/admin/devices/{device_id}/posture',
  summary: 'Present result of every check for the last report of a device, with the expected and the reported facts',
  access: { by: ['session', 'api_key'], permission: 'posture:read' },
  params: Closed({ device_id: Id('device') }),
  response: Closed(
    {
      device_id: Id('device'),
      platform: Platform,
      verdict: PostureVerdict,
      reported_at: Nullable(Time),
      valid_until: Nullable(Time),
      channel: Nullable(Channel),
      version: Nullable(Count),
      facts: Type.Record(Type.String(), Type.Unknown(), { description: 'The whole last report' }),
      checks: Type.Array(Check),
    },
    { title: 'DevicePosture' },
  ),
})
