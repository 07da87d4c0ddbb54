import { background } from '../../../db/database.ts'
import { jobSource, type TenantId } from '../../../kernel/actor.ts'
import { eachTenant } from '../../../kernel/each-tenant.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { minute } from '../../../kernel/time.ts'
import type { Notice } from '../../notifications/index.ts'
import type { GatewaysDeps } from '../deps.ts'
import type { Registry } from '../registry/registry.ts'
import type { Activity } from '../reports/activity.ts'
import { tenantsWithSilent } from '../reports/sessions.queries.ts'
import { gatewayStatusOf } from '../reports/status.ts'
import { gatewaySilentMs } from './assess.ts'
import type { Connections } from './connections.ts'
import type { Doubtful } from './questions.queries.ts'
import * as queries from './questions.queries.ts'

/** Interval of new assessments while a connection stays in question. */
const againMs = minute
/** Batch sizes of a sweep. It repeats until nothing is left. */
const batch = 500
const silentBatch = 5000
const kinds = ['stale', 'conflict', 'unauthorized'] as const satisfies readonly Doubtful[]

/**
 * Assesses the connections that a report or a silence has put in question, and notifies administrators. Connections
 * without new reports cost nothing.
 */
export function createConnectionJudge({
  db,
  now,
  connections,
  registry,
  activity,
  notifications,
  listening,
}: Pick<GatewaysDeps, 'db' | 'now' | 'notifications' | 'listening'> & {
  connections: Connections
  registry: Registry
  activity: Activity
}) {
  /** A silent gateway sends no report that could put its connections in question, so they are put in question here. */
  async function questionSilent(tenant: TenantId, at: Date, since: Date): Promise<void> {
    const read = () => db.inTenant(tenant, (tx) => queries.silentSessions(tx, tenant, since, silentBatch), background)
    for (let found = silentBatch; found === silentBatch; ) {
      const silent = await read()
      const of = (s: (typeof silent)[number]) => ({
        tenantId: tenant,
        deviceId: s.device_id,
        gatewayId: s.gateway_id,
      })
      const asked = silent.map((s) => ({ ...of(s), judgeAt: at }))
      if (asked.length > 0) await db.inTenant(tenant, (tx) => queries.question(tx, asked), background)
      found = silent.length
    }
  }

  /** Returns the number of assessed connections. */
  async function judgeSome(tenant: TenantId, at: Date): Promise<number> {
    const memory = await connections.memory(tenant)
    return db.inTenant(
      tenant,
      async (tx) => {
        const due = await queries.lockDue(tx, tenant, at, batch)
        const keys = due.map((q) => ({ deviceId: q.device_id, gatewayId: q.gateway_id }))
        const judged = await connections.read(tx, tenant, memory, keys)
        const settled: string[] = []
        const verdicts: { questionId: string; verdict: Doubtful | null }[] = []
        for (const [i, { verdict, outcome }] of judged.entries()) {
          const questionId = due[i]!.question_id
          if (verdict === 'consistent' || outcome === 'settled') settled.push(questionId)
          else verdicts.push({ questionId, verdict: outcome === 'found' ? verdict : null })
        }
        if (settled.length > 0) await queries.settleQuestions(tx, tenant, settled)
        if (verdicts.length > 0)
          await queries.keepInQuestion(tx, tenant, verdicts, { at, judgeAt: new Date(at.getTime() + againMs) })
        return due.length
      },
      background,
    )
  }

  /**
   * Sends one notification for each gateway and verdict. Another is sent if more connections are affected after it was
   * acknowledged.
   */
  async function notifyMismatches(tenant: TenantId): Promise<void> {
    const { gateways } = await registry.of(tenant)
    const { byGateway } = await activity.of(tenant)
    const at = now().getTime()
    /**
     * Administrators are notified of a silent gateway itself, not of each of its connections. The same holds until it
     * has had time to report metering again.
     */
    const isDown = (gatewayId: string | null): boolean => {
      const gateway = gatewayId === null ? undefined : gateways.get(gatewayId)
      if (!gateway) return false
      const { lastSeenMs = null, upSinceMs = null } = byGateway.get(gateway.gateway_id) ?? {}
      if (upSinceMs !== null && at - upSinceMs < gatewaySilentMs) return true
      return gatewayStatusOf({ ...gateway, draining: false }, lastSeenMs, at).status !== 'healthy'
    }
    const groups = await db.inTenant(tenant, (tx) => queries.countsByGateway(tx, tenant), background)
    const notified = groups.filter((g) => g.verdict !== 'stale' || !isDown(g.gateway_id))
    for (const group of notified.filter((g) => g.untold > 0))
      await db.inTenant(
        tenant,
        async (tx) => {
          await queries.markNotified(tx, tenant, group.verdict, group.gateway_id)
          await notifications.notify(
            tx,
            tenant,
            mismatchNotice(group, gateways.get(group.gateway_id ?? '')?.name ?? null),
          )
        },
        background,
      )
    for (const verdict of kinds) {
      const causes = notified.filter((g) => g.verdict === verdict).map((g) => mismatchNotice(g, null).dedupe_key)
      await notifications.closeOthers(jobSource(tenant, 'judge_connections'), `connection.${verdict}`, new Set(causes))
    }
  }

  return {
    sweep: async (): Promise<void> => {
      const at = now()
      const since = new Date(at.getTime() - gatewaySilentMs)
      const isListenedFor = (await listening.since()) <= since
      const tenants = await db.acrossTenants(async (tx) => {
        const due = await queries.tenantsWithDue(tx, at)
        return isListenedFor ? [...due, ...(await tenantsWithSilent(tx, since))] : due
      }, background)
      // A sweep may have stopped before it closed notifications; the next one closes them.
      const open = await Promise.all(kinds.map((verdict) => notifications.tenantsWithOpen(`connection.${verdict}`)))
      await eachTenant(new Set([...tenants, ...open.flat()]), async (tenant) => {
        if (isListenedFor) await questionSilent(tenant, at, since)
        for (let judged = batch; judged === batch; ) judged = await judgeSome(tenant, at)
        await notifyMismatches(tenant)
      })
    },
  }
}

type Group = { verdict: Doubtful; gateway_id: string | null; connections: number }

const severities = { unauthorized: 'critical', conflict: 'warning', stale: 'warning' } as const
/** Advice for administrators: the finding, its importance and the next step. */
const advice: Record<Doubtful, string> = {
  unauthorized:
    'The gateway reports connections of devices that may not connect. Check that it receives and applies its policy. Until it does, disconnect it from the network.',
  conflict:
    'Control plane, gateway and device report different states of the same connection: one report is outdated or false. Compare the reports.',
  stale:
    'The gateway still reports, but sends no more metering for these connections. The server ends them after 15 minutes without metering. Check the metering and the clock of the gateway.',
}

/** Returns the notification for the connections of one gateway (null: no known gateway) with this verdict. */
function mismatchNotice({ verdict, gateway_id, connections }: Group, name: string | null) {
  const many = connections === 1 ? '1 connection' : `${connections} connections`
  const where = gateway_id === null ? 'of an unknown gateway' : `of gateway ${name ?? '(deleted)'}`
  const id = gateway_id && encodeId('gateway', gateway_id)
  const filter = id ? `&gateway_id=${id}` : ''
  return {
    kind: `connection.${verdict}`,
    severity: severities[verdict],
    title: `${many} ${where} ${connections === 1 ? 'is' : 'are'} ${words[verdict]}`,
    detail: `${advice[verdict]}\nGET /v1/admin/connection_truth?verdict=${verdict}${filter}`,
    subject: { type: 'gateway', id, name },
    dedupe_key: `connection.${verdict}:${gateway_id ?? 'none'}`,
  } as const satisfies Notice
}
const words: Record<Doubtful, string> = {
  unauthorized: 'unauthorized',
  conflict: 'in conflict',
  stale: 'stale',
}
