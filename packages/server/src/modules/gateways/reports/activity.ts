import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { createGroupCommit } from '../../../kernel/group-commit.ts'
import { hour } from '../../../kernel/time.ts'
import type { GatewaysDeps } from '../deps.ts'
import {
  type GatewayReport,
  raiseSessionPeaks,
  type SessionPeak,
  silentSince,
  upsertActivity,
} from './activity.queries.ts'
import { createLiveness } from './liveness.ts'
import { degradedAfterMs, downAfterMs } from './status.ts'

/** Reports of gateways: written in batches, and cached for the directory. */
export function createGatewayActivity({
  db,
  now,
  signals,
  listening,
}: Pick<GatewaysDeps, 'db' | 'now' | 'signals' | 'listening'>) {
  const liveness = createLiveness({ db, now, signals })
  const peaks = createSessionPeaks()
  /** Returns the time since when the gateway is up again; undefined if another replica stored a newer report. */
  const join = createGroupCommit<GatewayReport, Date | null | undefined>(
    async (batch) => {
      const reports = newest(batch)
      const risen = peaks.risen(reports)
      const upSince = await db.acrossTenants(async (tx) => {
        const upSince = await upsertActivity(tx, reports, { degradedAfterMs, downAfterMs })
        if (risen.length > 0) await raiseSessionPeaks(tx, risen)
        return upSince
      })
      peaks.written(risen)
      return batch.map((report) => upSince.get(report.gatewayId))
    },
    {
      tenantOf: (report) => report.tenantId,
      maxBatch: 2000,
      maxQueue: 50_000,
      maxPerTenant: 20_000,
    },
  )

  return {
    /** Settles once the report is durable. */
    report: async (report: GatewayReport): Promise<void> => {
      const upSince = await join(report)
      if (upSince === undefined) return
      liveness.note(report.tenantId, report.gatewayId, {
        lastSeenMs: report.at.getTime(),
        activeSessions: report.activeSessions,
        version: report.version,
        policySeq: report.policySeq,
        upSinceMs: upSince?.getTime() ?? null,
      })
    },
    onChange: liveness.onChange,
    look: liveness.look,
    of: liveness.of,

    /**
     * Returns the silent gateways of all tenants with their last report, and whether the deployment listened for as
     * long as makes a gateway down.
     */
    silent: async () => {
      const before = new Date(now().getTime() - downAfterMs)
      const isListenedFor = (await listening.since()) <= before
      const rows = await db.acrossTenants((tx) => silentSince(tx, before))
      const gateways = rows.map((r) => ({
        tenantId: r.tenant_id,
        gatewayId: r.gateway_id,
        name: r.name,
        lastSeenAt: r.last_seen_at,
      }))
      return { gateways, isListenedFor }
    },
  }
}
export type Activity = ReturnType<typeof createGatewayActivity>

/** Merges a batch to one report per gateway: the later one, with values that only the earlier one has. */
function newest(batch: readonly GatewayReport[]): GatewayReport[] {
  const byGateway = new Map<string, GatewayReport>()
  for (const report of batch) {
    const known = byGateway.get(report.gatewayId)
    byGateway.set(report.gatewayId, known ? merge(known, report) : report)
  }
  return [...byGateway.values()]
}

function merge(a: GatewayReport, b: GatewayReport): GatewayReport {
  const [earlier, later] = a.at <= b.at ? [a, b] : [b, a]
  if (earlier.bootId !== later.bootId) return later
  return {
    ...later,
    version: later.version ?? earlier.version,
    activeSessions: later.activeSessions ?? earlier.activeSessions,
    rxBps: later.rxBps ?? earlier.rxBps,
    txBps: later.txBps ?? earlier.txBps,
    policyDigest: later.policyDigest ?? earlier.policyDigest,
    policySeq: later.policySeq ?? earlier.policySeq,
    trustVersion: later.trustVersion ?? earlier.trustVersion,
    applyError: later.applyError ?? earlier.applyError,
    system: later.system ?? earlier.system,
    clockOffsetMs: later.clockOffsetMs ?? earlier.clockOffsetMs,
    certificateExpiresAt: later.certificateExpiresAt ?? earlier.certificateExpiresAt,
  }
}

type Written = { hourMs: number; sessions: number }

/**
 * Returns the reports that raise the maximum of sessions of their hour, as far as this replica has written it. Most do
 * not, and cost no query. A forgotten peak is written again, which changes nothing.
 */
function createSessionPeaks() {
  const byGateway = new BoundedMap<string, Written>(50_000)
  return {
    risen: (reports: readonly GatewayReport[]): SessionPeak[] =>
      reports.flatMap(({ tenantId, gatewayId, at, activeSessions: sessions }) => {
        if (sessions === null) return []
        const hourMs = Math.floor(at.getTime() / hour) * hour
        const known = byGateway.get(gatewayId)
        const isRisen = known?.hourMs !== hourMs || known.sessions < sessions
        return isRisen ? [{ tenantId, gatewayId, hour: new Date(hourMs), sessions }] : []
      }),
    /** Called once the peaks are durable. */
    written: (peaks: readonly SessionPeak[]): void => {
      for (const { gatewayId, hour: at, sessions } of peaks)
        byGateway.set(gatewayId, { hourMs: at.getTime(), sessions })
    },
  }
}
