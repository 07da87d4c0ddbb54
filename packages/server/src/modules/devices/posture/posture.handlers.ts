import type { Contract, Output } from '@holdfast/contract'
import type { Handlers } from '../../../http/handlers.ts'
import { encodeId, idOf } from '../../../kernel/ids.ts'
import type { Assertions } from './assertion.ts'
import type { Explanations, PostureExplanation } from './explanation.ts'
import type { Reports } from './reports.ts'
import { lastReportOf } from './status.ts'

export const postureHandlers = ({
  reports,
  assertions,
  explanations,
}: {
  reports: Reports
  assertions: Assertions
  explanations: Explanations
}) =>
  ({
    reportPosture: async ({ actor, body }) => {
      const { at, result, until } = await reports.report(actor, body.facts)
      return {
        verdict: result.verdict,
        reported_at: at.toISOString(),
        next_report_before: time(Number.isFinite(until) ? until : null),
        // Expected values are for administrators only. The device learns which check fails and the remediation.
        checks: lastReportOf(result).map(({ id, passed, remediation }) => ({
          id,
          passed,
          remediation: passed ? null : remediation || null,
        })),
      }
    },
    postureAssertion: ({ actor, query }) => assertions.of(actor, query),
    getDevicePosture: async ({ actor, params }) =>
      viewPosture(await explanations.of(actor.tenantId, idOf('device', params.device_id))),
  }) satisfies Partial<Handlers>

const time = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())

const viewPosture = ({ reported, by, result }: PostureExplanation): Output<Contract['getDevicePosture']> => ({
  device_id: encodeId('device', reported.device_id),
  platform: reported.platform as Output<Contract['getDevicePosture']>['platform'],
  verdict: result.verdict,
  reported_at: reported.reported_at?.toISOString() ?? null,
  valid_until: time(result.valid_until),
  channel: by?.channel ?? null,
  version: by?.version ?? null,
  facts: reported.facts ?? {},
  checks: result.checks.map((check) => ({
    check_id: check.id,
    applies: check.applies,
    passed: check.passed,
    reason_code: check.reason_code,
    expected: check.expected,
    actual: check.actual,
    observed_at: reported.reported_at?.toISOString() ?? null,
    valid_until: time(check.valid_until),
    freshness_seconds: check.freshness_seconds,
    platforms: check.platforms && [...check.platforms],
    severity: check.severity,
    enforcement: check.enforcement,
    remediation: check.remediation || null,
  })),
})
