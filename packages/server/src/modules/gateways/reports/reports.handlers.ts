import type { Handlers } from '../../../http/handlers.ts'
import { unauthorized } from '../../../kernel/app-error.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { Registry } from '../registry/registry.ts'
import type { Activity } from './activity.ts'
import { aheadOf } from './instant.ts'
import type { Metering } from './metering.ts'
import { gatewayStatusOf } from './status.ts'
import type { Telemetry } from './telemetry.ts'

const heartbeatSeconds = 10

/** Endpoints for reports of gateways and devices. */
export const reportHandlers = ({
  now,
  registry,
  activity,
  metering,
  telemetry,
}: Pick<GatewaysDeps, 'now'> & {
  registry: Registry
  activity: Activity
  metering: Metering
  telemetry: Telemetry
}) =>
  ({
    heartbeat: async ({ actor, body }) => {
      const at = now()
      const gateway = (await registry.of(actor.tenantId)).gateways.get(actor.principal.id) ?? unauthorized()
      await activity.report({
        tenantId: actor.tenantId,
        gatewayId: gateway.gateway_id,
        at,
        bootId: body.boot_id,
        version: body.version ?? null,
        activeSessions: body.active_sessions,
        rxBps: body.rx_bps ?? null,
        txBps: body.tx_bps ?? null,
        policyDigest: body.applied?.policy_digest ?? null,
        policySeq: body.applied?.policy_seq ?? null,
        trustVersion: body.applied?.trust_version ?? null,
        system: body.system ?? null,
        clockOffsetMs: aheadOf(body.sent_at, at),
        certificateExpiresAt: body.certificate_expires_at === undefined ? null : timeOf(body.certificate_expires_at),
        applyError: body.apply_error === null ? 'none' : (body.apply_error ?? null),
      })
      const { status } = gatewayStatusOf(gateway, at.getTime(), at.getTime())
      return { status, server_time: now().toISOString(), next_heartbeat_seconds: heartbeatSeconds }
    },
    metering: ({ actor, body }) => metering.take(actor, body),
    telemetry: ({ actor, body }) => telemetry.take(actor, body),
  }) satisfies Partial<Handlers>

const earliest = Date.UTC(1970)
/** Null for a time that the calendar does not have (a leap second) or before 1970. */
const timeOf = (text: string): Date | null => {
  const ms = Date.parse(text)
  return ms >= earliest ? new Date(ms) : null
}
