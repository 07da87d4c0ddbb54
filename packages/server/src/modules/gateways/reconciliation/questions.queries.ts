import { sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { newUuid } from '../../../kernel/ids.ts'
import type { ConnectionKey } from './witness-reports.queries.ts'

/** Verdict for a connection in question. */
export type Doubtful = 'stale' | 'conflict' | 'unauthorized'
type Question = ConnectionKey & { tenantId: TenantId; judgeAt: Date }

/**
 * Puts connections of any tenants in question. For one that already is, the earlier of the two times applies. A
 * concurrent assessment is waited for, so that no report is missed.
 */
export const question = async (tx: Tx, questions: readonly Question[]): Promise<void> => {
  if (questions.length === 0) return
  const column = <T>(of: (q: Question) => T) => questions.map(of)
  await sql`
    insert into connections_in_question as q (tenant_id, device_id, gateway_id, judge_at, question_id)
    select distinct on (1, 2, 3) * from unnest(${column((q) => q.tenantId)}::uuid[], ${column((q) => q.deviceId)}::uuid[],
      ${column((q) => q.gatewayId)}::uuid[], ${column((q) => q.judgeAt)}::timestamptz[], ${questions.map(() => newUuid())}::uuid[])
    order by 1, 2, 3, 4
    on conflict (tenant_id, device_id, gateway_id) do update set judge_at = excluded.judge_at
      where excluded.judge_at < q.judge_at`.execute(tx)
}

/** Selects across tenants those with due assessments. */
export const tenantsWithDue = async (tx: Tx, at: Date): Promise<TenantId[]> => {
  const rows = await tx
    .selectFrom('connections_in_question')
    .select('tenant_id')
    .distinct()
    .where('judge_at', '<=', at)
    .execute()
  return rows.map((r) => r.tenant_id)
}

/** Locks the due connections until commit: nobody else assesses them, and new reports about them wait. */
export const lockDue = (tx: Tx, tenant: TenantId, at: Date, limit: number) =>
  sql<{ question_id: string; device_id: string; gateway_id: string | null }>`
    select question_id, device_id, gateway_id from connections_in_question
    where tenant_id = ${tenant} and question_id = any(array(
      select question_id from connections_in_question where tenant_id = ${tenant} and judge_at <= ${at}
      order by judge_at limit ${limit}))
    order by device_id, gateway_id for update`
    .execute(tx)
    .then((r) => r.rows)

export const settleQuestions = (tx: Tx, tenant: TenantId, questionIds: readonly string[]) =>
  tx
    .deleteFrom('connections_in_question')
    .where('tenant_id', '=', tenant)
    .where('question_id', '=', sql<string>`any(${questionIds}::uuid[])`)
    .execute()

/**
 * Stores verdicts and the time of the next assessment. A verdict is null while a source may not have reported yet. With
 * another verdict the administrators have not been notified.
 */
export const keepInQuestion = (
  tx: Tx,
  tenant: TenantId,
  found: readonly { questionId: string; verdict: Doubtful | null }[],
  { at, judgeAt }: { at: Date; judgeAt: Date },
) =>
  sql`
    update connections_in_question q set judge_at = ${judgeAt}, verdict = f.verdict,
      since = case when f.verdict is null then null when q.verdict = f.verdict then q.since else ${at}::timestamptz end,
      told = q.told and q.verdict is not distinct from f.verdict
    from unnest(${found.map((f) => f.questionId)}::uuid[], ${found.map((f) => f.verdict)}::text[]) as f (question_id, verdict)
    where q.tenant_id = ${tenant} and q.question_id = f.question_id`.execute(tx)

/** Returns active sessions that no report mentioned since, and that are not in question yet. */
export const silentSessions = (tx: Tx, tenant: TenantId, since: Date, limit: number) =>
  sql<{ device_id: string; gateway_id: string }>`
    select device_id, gateway_id from vpn_sessions v
    where tenant_id = ${tenant} and state = 'active' and ended_at is null and last_seen_at < ${since}
      and not exists (select from connections_in_question q
        where q.tenant_id = v.tenant_id and q.device_id = v.device_id and q.gateway_id = v.gateway_id)
    limit ${limit}`
    .execute(tx)
    .then((r) => r.rows)

type Filter = { verdict: Doubtful; deviceId?: string; userId?: string; gatewayId?: string }
export const selectInQuestion = (tx: Tx, tenant: TenantId, { verdict, deviceId, userId, gatewayId }: Filter) => {
  let q = tx
    .selectFrom('connections_in_question')
    .select(['question_id', 'device_id', 'gateway_id', 'since'])
    .where('tenant_id', '=', tenant)
    .where('verdict', '=', verdict)
  if (deviceId !== undefined) q = q.where('device_id', '=', deviceId)
  if (gatewayId !== undefined) q = q.where('gateway_id', '=', gatewayId)
  if (userId !== undefined)
    q = q.where(
      sql<boolean>`device_id = any(array(select device_id from devices where tenant_id = ${tenant} and user_id = ${userId}))`,
    )
  return q
}

/** Returns since when connections of these devices are in question. */
export const questionsOf = (tx: Tx, tenant: TenantId, deviceIds: readonly string[]) =>
  tx
    .selectFrom('connections_in_question')
    .select(['device_id', 'gateway_id', 'since'])
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', sql<string>`any(${[...new Set(deviceIds)]}::uuid[])`)
    .where('verdict', 'is not', null)
    .execute()

/** Counts the connections in question by verdict and gateway, and those that administrators were not notified of. */
export const countsByGateway = (tx: Tx, tenant: TenantId) =>
  sql<{ verdict: Doubtful; gateway_id: string | null; connections: number; untold: number }>`
    select verdict, gateway_id, count(*) as connections, count(*) filter (where not told) as untold
    from connections_in_question where tenant_id = ${tenant} and verdict is not null
    group by verdict, gateway_id order by verdict, gateway_id`
    .execute(tx)
    .then((r) => r.rows)

export const markNotified = (tx: Tx, tenant: TenantId, verdict: Doubtful, gatewayId: string | null) =>
  sql`
    with locked as (
      select question_id from connections_in_question
      where tenant_id = ${tenant} and verdict = ${verdict} and gateway_id is not distinct from ${gatewayId}::uuid and not told
      order by device_id, gateway_id for update)
    update connections_in_question q set told = true from locked
    where q.tenant_id = ${tenant} and q.question_id = locked.question_id`.execute(tx)
