import { type Selectable, sql } from 'kysely'
import type { Tx } from '../../../db/database.ts'
import { happened } from '../../../db/happened.ts'
import { deleting } from '../../../db/retention.ts'
import type { Tables } from '../../../db/tables/index.ts'
import type { TenantId } from '../../../kernel/actor.ts'

export type GrantRow = Selectable<Tables['device_grants']>
/** What a machine has of its grant: its challenge, by digest, and its key, by thumbprint. */
export type GrantKey = Pick<GrantRow, 'ticket' | 'jkt'>

/** Until commit whoever begins a grant in this tenant takes turns, so that all of them are counted. */
export const takeTurns = (tx: Tx, tenant: TenantId) =>
  sql`select pg_advisory_xact_lock(${sql.lit(beginLock)}, hashtext(${tenant}::text))`.execute(tx)
// Any number serves that no other user of the database takes.
const beginLock = 7_264_407

/** How many grants are open: of the tenant, and of one address. */
export async function countOpen(tx: Tx, tenant: TenantId, source: string, at: Date) {
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

/** False where the challenge has begun one before. */
export const insertGrant = (tx: Tx, row: GrantRow): Promise<boolean> =>
  happened(
    tx
      .insertInto('device_grants')
      .values(row)
      .onConflict((c) => c.columns(['tenant_id', 'ticket']).doNothing())
      .returning('ticket'),
  )

type Opened = Pick<GrantRow, 'secret_jwe' | 'interval_seconds' | 'next_poll_at' | 'expires_at'>
/** The provider has begun it too. */
export const openGrant = (tx: Tx, tenant: TenantId, { ticket, jkt }: GrantKey, opened: Opened): Promise<boolean> =>
  happened(
    tx
      .updateTable('device_grants')
      .set({ ...opened, state: 'pending' })
      .where('tenant_id', '=', tenant)
      .where('ticket', '=', ticket)
      .where('jkt', '=', jkt)
      .where('state', '=', 'starting')
      .returning('ticket'),
  )

/** One that the provider did not begin: the challenge may try again. */
export const dropGrant = (tx: Tx, tenant: TenantId, { ticket, jkt }: GrantKey) =>
  tx
    .deleteFrom('device_grants')
    .where('tenant_id', '=', tenant)
    .where('ticket', '=', ticket)
    .where('jkt', '=', jkt)
    .where('state', '=', 'starting')
    .execute()

export const findGrant = (tx: Tx, tenant: TenantId, { ticket, jkt }: GrantKey): Promise<GrantRow | undefined> =>
  tx
    .selectFrom('device_grants')
    .selectAll()
    .where('tenant_id', '=', tenant)
    .where('ticket', '=', ticket)
    .where('jkt', '=', jkt)
    .executeTakeFirst()

/**
 * The right to ask the provider once, for the one caller on any replica that gets it; it passes on at `until`, where
 * nobody wrote what came of it.
 */
export const claimPoll = (
  tx: Tx,
  tenant: TenantId,
  { ticket, jkt }: GrantKey,
  { poller, at, until }: { poller: string; at: Date; until: Date },
): Promise<GrantRow | undefined> =>
  tx
    .updateTable('device_grants')
    .set({ poller, next_poll_at: until })
    .where('tenant_id', '=', tenant)
    .where('ticket', '=', ticket)
    .where('jkt', '=', jkt)
    .where('state', '=', 'pending')
    .where('next_poll_at', '<=', at)
    .where('expires_at', '>', at)
    .returningAll()
    .executeTakeFirst()

type Outcome = Partial<Pick<GrantRow, 'state' | 'end_reason' | 'secret_jwe' | 'interval_seconds' | 'next_poll_at'>>
/** What came of it, by whoever has that right still. */
export const settlePoll = (
  tx: Tx,
  tenant: TenantId,
  { ticket, poller }: { ticket: Buffer; poller: string },
  outcome: Outcome,
): Promise<boolean> =>
  happened(
    tx
      .updateTable('device_grants')
      .set({ ...outcome, poller: null })
      .where('tenant_id', '=', tenant)
      .where('ticket', '=', ticket)
      .where('poller', '=', poller)
      .where('state', '=', 'pending')
      .returning('ticket'),
  )

/** True for the one call that found it past its end. */
export const expireGrant = (tx: Tx, tenant: TenantId, { ticket, jkt }: GrantKey, at: Date): Promise<boolean> =>
  happened(
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

/** True for the one call that enrolls by it. */
export const spendGrant = (tx: Tx, tenant: TenantId, { ticket, jkt }: GrantKey, at: Date): Promise<boolean> =>
  happened(
    tx
      .deleteFrom('device_grants')
      .where('tenant_id', '=', tenant)
      .where('ticket', '=', ticket)
      .where('jkt', '=', jkt)
      .where('state', '=', 'authorized')
      .where('expires_at', '>', at)
      .returning('ticket'),
  )

/** A machine hears of its end for as long as its challenge is good. */
export const pruneGrants = deleting('device_grants', sql`expires_at < now() - interval '15 minutes'`)
