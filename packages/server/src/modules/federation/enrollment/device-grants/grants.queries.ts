import { type Selectable, sql } from 'kysely'
import { keyedLocks } from '../../../../db/advisory-locks.ts'
import { affectedRow } from '../../../../db/affected-row.ts'
import type { Tx } from '../../../../db/database.ts'
import { leaseOf } from '../../../../db/lease.ts'
import { deleting } from '../../../../db/retention.ts'
import type { Tables } from '../../../../db/tables/index.ts'
import type { TenantId } from '../../../../kernel/actor.ts'
import { minute } from '../../../../kernel/time.ts'

export type GrantRow = Selectable<Tables['device_grants']>
/** Key of a machine's grant: the digest of its challenge and the thumbprint of its key. */
export type GrantKey = Pick<GrantRow, 'ticket' | 'jkt'>

/** Serializes the beginning of grants in a tenant until commit, so that the counts are exact. */
export const lockNewGrants = (tx: Tx, tenant: TenantId) =>
  sql`select pg_advisory_xact_lock(${sql.lit(keyedLocks.newDeviceGrants)}, hashtext(${tenant}::text))`.execute(tx)

/** Counts the open grants of the tenant and of one address. */
export async function countOpenGrants(tx: Tx, tenant: TenantId, source: string, at: Date) {
  const open = tx
    .selectFrom('device_grants')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('tenant_id', '=', tenant)
    .where('expires_at', '>', at)
    .where('state', '<>', 'ended')
  const { n: ofTenant } = await open.executeTakeFirstOrThrow()
  const { n: ofSource } = await open.where('source', '=', source).executeTakeFirstOrThrow()
  return { ofTenant, ofSource }
}

/** False if the challenge has begun a grant before. */
export const insertDeviceGrant = (tx: Tx, row: GrantRow): Promise<boolean> =>
  affectedRow(
    tx
      .insertInto('device_grants')
      .values(row)
      .onConflict((c) => c.columns(['tenant_id', 'ticket']).doNothing())
      .returning('ticket'),
  )

type Opened = Pick<GrantRow, 'secret_jwe' | 'interval_seconds' | 'next_poll_at' | 'expires_at'>
/** Marks the grant as begun at the provider. */
export const openGrant = (tx: Tx, tenant: TenantId, { ticket, jkt }: GrantKey, opened: Opened): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('device_grants')
      .set({ ...opened, state: 'pending' })
      .where('tenant_id', '=', tenant)
      .where('ticket', '=', ticket)
      .where('jkt', '=', jkt)
      .where('state', '=', 'starting')
      .returning('ticket'),
  )

/** Deletes a grant that the provider did not begin. The challenge may then try again. */
export const dropGrant = (tx: Tx, tenant: TenantId, { ticket, jkt }: GrantKey) =>
  tx
    .deleteFrom('device_grants')
    .where('tenant_id', '=', tenant)
    .where('ticket', '=', ticket)
    .where('jkt', '=', jkt)
    .where('state', '=', 'starting')
    .execute()

export const findDeviceGrant = (tx: Tx, tenant: TenantId, { ticket, jkt }: GrantKey): Promise<GrantRow | undefined> =>
  tx
    .selectFrom('device_grants')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('ticket', '=', ticket)
    .where('jkt', '=', jkt)
    .executeTakeFirst()

/** A grant whose holder alone asks the provider. */
export type LeasedGrant = GrantRow & { poller: string }
/** Length of the lease: for one request to the provider and for storing the result. */
export const pollLeaseMs = minute
const { take, held, released } = leaseOf('device_grants', {
  key: ['tenant_id', 'ticket'],
  holder: 'poller',
  until: 'next_poll_at',
  ms: pollLeaseMs,
  open: { state: 'pending' },
})

/** Takes the lease for one poll, if it is due. Only one caller on any replica gets it. */
export const takePoll = (
  tx: Tx,
  tenant_id: TenantId,
  { ticket, jkt }: GrantKey,
  at: Date,
): Promise<LeasedGrant | undefined> =>
  take(tx, { tenant_id, ticket }, at)
    .where('jkt', '=', jkt)
    .where('expires_at', '>', at)
    .returningAll()
    .$narrowType<{ poller: string }>()
    .executeTakeFirst()

type Outcome = Partial<Pick<GrantRow, 'state' | 'end_reason' | 'secret_jwe' | 'interval_seconds'>>
/** Stores the result of a poll, if the caller still has the lease, and the time of the next poll. */
export const settlePoll = (tx: Tx, grant: LeasedGrant, outcome: Outcome, at: Date, wait: number): Promise<boolean> =>
  affectedRow(
    held(tx, grant)
      .set({ ...outcome, ...released(at, wait) })
      .returning('ticket'),
  )

/** True for the one call that found the grant past its end. */
export const expireGrant = (tx: Tx, tenant: TenantId, { ticket, jkt }: GrantKey, at: Date): Promise<boolean> =>
  affectedRow(
    tx
      .updateTable('device_grants')
      .set({ state: 'ended', end_reason: 'expired', secret_jwe: null, poller: null })
      .where('tenant_id', '=', tenant)
      .where('ticket', '=', ticket)
      .where('jkt', '=', jkt)
      .where('state', 'in', ['pending', 'authorized'])
      .where('expires_at', '<=', at)
      .returning('ticket'),
  )

/** True for the one call that enrolls with the grant. */
export const spendGrant = (tx: Tx, tenant: TenantId, { ticket, jkt }: GrantKey, at: Date): Promise<boolean> =>
  affectedRow(
    tx
      .deleteFrom('device_grants')
      .where('tenant_id', '=', tenant)
      .where('ticket', '=', ticket)
      .where('jkt', '=', jkt)
      .where('state', '=', 'authorized')
      .where('expires_at', '>', at)
      .returning('ticket'),
  )

/** Ended grants stay for 15 minutes, so that the machine learns the result while its challenge is valid. */
export const pruneGrants = deleting('device_grants', sql`expires_at < now() - interval '15 minutes'`)
