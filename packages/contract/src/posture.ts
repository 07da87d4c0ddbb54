import { Type } from 'typebox'
import { Channel, PostureVerdict } from './devices.ts'
import { endpoint } from './endpoint.ts'
import { Platform } from './enrollment-fields.ts'
import { PostureFacts } from './posture-facts.ts'
import { Closed, Count, Id, Nullable, OneOf, Time } from './schema.ts'

export const reportPosture = endpoint({
  method: 'POST',
  path: '/v1/posture/report',
  summary: 'Report the posture of the device',
  description: 'The answer lists the failed checks and their remediation.',
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
  summary: 'Get a signed posture assertion',
  description: 'The assertion (eat+jwt) is for a relying party. A device gets its own. Other callers name a device.',
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
          '8 to 64 bytes, base64url without padding. The assertion has it as `eat_nonce`, so that it cannot be replayed',
      }),
    ),
  }),
  response: Closed({
    assertion: Type.String({ description: 'Signed assertion: a JWS with an EAT attestation result' }),
    expires_at: Time,
    status: OneOf(attestationStatuses, {
      description:
        '`affirming`: a report of the last hour passes every check. `warning`: the report is older, or a check has no result. `contraindicated`: an enforced check fails, or the device or its user has no access. `none`: there is no report, or no check',
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
      { description: 'Reasons why the status is not `affirming`. Of a check only the name is given' },
    ),
  }),
})

/** `valid_until`: when the outcome may change without another report. */
const Check = Closed({
  check_id: Type.String(),
  applies: Type.Boolean({ description: 'True: the check is for the platform of the device' }),
  passed: Type.Boolean(),
  reason_code: OneOf(['passed', 'not_applicable', 'failed', 'no_report', 'stale_report', 'fact_missing']),
  expected: Type.String({ description: 'The expression of the check' }),
  actual: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Reported values of the facts that the check reads; null: nothing was reported',
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
  summary: 'Get the posture of a device',
  description:
    'The answer has the current result of each check for the last report, with the expected and the reported facts.',
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
      facts: Type.Record(Type.String(), Type.Unknown(), { description: 'All facts of the last report' }),
      checks: Type.Array(Check),
    },
    { title: 'DevicePosture' },
  ),
})
