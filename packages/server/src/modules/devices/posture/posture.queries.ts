import { type Selectable, sql } from 'kysely'
import { keyedLocks } from '../../../db/advisory-locks.ts'
import { affectedRow } from '../../../db/affected-row.ts'
import type { Tx } from '../../../db/database.ts'
import type { DeviceStatus, Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

/** Prevents, until commit, that a policy of the tenant comes into force. Reports share this lock. */
export const shareVerdicts = (tx: Tx, tenant: TenantId) =>
  sql`select pg_advisory_xact_lock_shared(${sql.lit(keyedLocks.postureVerdicts)}, hashtext(${tenant}::text))`.execute(
    tx,
  )

/** Taken to bring a policy into force: until commit no report of the tenant is judged by the previous policy. */
export const holdVerdicts = (tx: Tx, tenant: TenantId) =>
  sql`select pg_advisory_xact_lock(${sql.lit(keyedLocks.postureVerdicts)}, hashtext(${tenant}::text))`.execute(tx)

/** Reads and locks the stored report, with the version of the newest policy. */
export const lockPosture = (tx: Tx, tenant: TenantId, deviceId: string) =>
  tx
    .selectFrom('device_postures')
    .select(['facts', 'verdict', 'reported_at', 'told_at', 'told_until'])
    .select((eb) =>
      eb.selectFrom('tenant_epochs').select('policy_version').where('tenant_id', '=', tenant).as('newest_policy'),
    )
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', deviceId)
    .forUpdate()
    .executeTakeFirst()
export type StoredPosture = NonNullable<Awaited<ReturnType<typeof lockPosture>>>

type PostureRow = Omit<Selectable<Tables['device_postures']>, 'tenant_id' | 'facts' | 'told_at' | 'told_until'> & {
  facts: object
}
type AnswerTimes = Pick<Selectable<Tables['device_postures']>, 'told_at' | 'told_until'>
/** Stores the first report of a device. False if there is one already. */
export const insertPosture = (tx: Tx, tenant: TenantId, row: PostureRow, answerTimes: AnswerTimes): Promise<boolean> =>
  affectedRow(
    tx
      .insertInto('device_postures')
      .values({ ...row, ...answerTimes, facts: JSON.stringify(row.facts), tenant_id: tenant })
      .onConflict((c) => c.columns(['tenant_id', 'device_id']).doNothing())
      .returning('device_id'),
  )

/** Replaces the stored report. `told` is set if the report is announced. */
export const updatePosture = (
  tx: Tx,
  tenant: TenantId,
  { device_id, ...row }: PostureRow,
  answerTimes: AnswerTimes | undefined,
) =>
  tx
    .updateTable('device_postures')
    .set({ ...row, ...answerTimes, facts: JSON.stringify(row.facts) })
    .where('tenant_id', '=', tenant)
    .where('device_id', '=', device_id)
    .execute()

/** Data for an assertion: the current state of the device and its user, and the last report. */
export const findReported = (tx: Tx, tenant: TenantId, deviceId: string) =>
  tx
    .selectFrom('devices as d')
    .leftJoin('device_postures as p', (j) => j.on('p.tenant_id', '=', tenant).onRef('p.device_id', '=', 'd.device_id'))
    .leftJoin('users as u', (j) => j.on('u.tenant_id', '=', tenant).onRef('u.user_id', '=', 'd.user_id'))
    .select(['d.device_id', 'd.user_id', 'd.name', 'd.jkt', 'd.platform'])
    .select(['p.facts', 'p.facts_digest', 'p.reported_at'])
    // A locked device may do the same as a suspended one.
    .select(
      sql<DeviceStatus>`case when d.status = 'active' and device_is_locked(${tenant}, d.device_id)
        then 'suspended' else d.status end`.as('status'),
    )
    .select(sql<boolean>`coalesce(u.status = 'suspended' or u.deleted_at is not null, false)`.as('user_suspended'))
    .where('d.tenant_id', '=', tenant)
    .where('d.device_id', '=', deviceId)
    .executeTakeFirst()
export type Reported = NonNullable<Awaited<ReturnType<typeof findReported>>>
