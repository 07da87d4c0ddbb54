import { previousSecretHours } from '@holdfast/contract/limits'
import { type RawBuilder, type Selectable, sql } from 'kysely'
import { keyedLocks } from '../../db/advisory-locks.ts'
import type { Tx } from '../../db/database.ts'
import type { Prune } from '../../db/retention.ts'
import type { Destination, SiemTables } from '../../db/tables/siem.ts'
import type { TenantId } from '../../kernel/actor.ts'
import type { StreamRow } from './delivery/streams.queries.ts'

/** `previous_signs`: true while the previous secret is still valid, by the database's clock; null if there is none. */
export type ConnectorRow = Selectable<SiemTables['siem_connectors']> & { previous_signs: boolean | null }
type ConnectorKey = Pick<ConnectorRow, 'tenant_id' | 'connector_id'>
/** Settings of a connector without its credential. */
export type ConnectorFields = Pick<ConnectorRow, 'name' | 'format' | 'enabled'> & { destination: Destination }

/** Leaves out deleted connectors. */
export const selectConnectors = (tx: Tx, tenant: TenantId) =>
  tx
    .selectFrom('siem_connectors')
    .selectAll()
    .select(sql<boolean | null>`previous_until > clock_timestamp()`.as('previous_signs'))
    .where('tenant_id', '=', tenant)
    .where('deleted_at', 'is', null)

export const findConnector = (tx: Tx, tenant: TenantId, id: string): Promise<ConnectorRow | undefined> =>
  selectConnectors(tx, tenant).where('connector_id', '=', id).executeTakeFirst()

/** Locks a connector against changes until commit. Rows that refer to it may still be added. */
export const lockConnector = (tx: Tx, tenant: TenantId, id: string): Promise<ConnectorRow | undefined> =>
  selectConnectors(tx, tenant).where('connector_id', '=', id).forNoKeyUpdate().executeTakeFirst()

export const wasConnectorDeleted = async (tx: Tx, tenant: TenantId, id: string): Promise<boolean> =>
  (await tx
    .selectFrom('siem_connectors')
    .select('connector_id')
    .where('tenant_id', '=', tenant)
    .where('connector_id', '=', id)
    .executeTakeFirst()) !== undefined

/** Serializes the creation of connectors in this tenant until commit, so that the count is exact. */
export const lockNewConnectors = (tx: Tx, tenant: TenantId) =>
  sql`select pg_advisory_xact_lock(${sql.lit(keyedLocks.newSiemConnectors)}, hashtext(${tenant}::text))`.execute(tx)

export const countConnectors = async (tx: Tx, tenant: TenantId): Promise<number> => {
  const { n } = await tx
    .selectFrom('siem_connectors')
    .select((e) => e.fn.countAll<number>().as('n'))
    .where('tenant_id', '=', tenant)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  return n
}

const written = ({ destination, ...fields }: ConnectorFields) => ({
  ...fields,
  destination: JSON.stringify(destination),
})
type Made = Pick<ConnectorRow, 'connector_id' | 'kind' | 'credential_jwe'> & { at: Date }
export const insertConnector = (tx: Tx, tenant: TenantId, fields: ConnectorFields, { at, ...made }: Made) =>
  tx
    .insertInto('siem_connectors')
    .values({ tenant_id: tenant, ...made, ...written(fields), created_at: at, updated_at: at })
    .execute()

type Changed = Pick<ConnectorRow, 'credential_jwe'> & { at: Date }
export const updateConnector = (
  tx: Tx,
  { tenant_id, connector_id }: ConnectorKey,
  fields: ConnectorFields,
  { at, credential_jwe }: Changed,
) =>
  tx
    .updateTable('siem_connectors')
    .set({ ...written(fields), credential_jwe, updated_at: at })
    .where('tenant_id', '=', tenant_id)
    .where('connector_id', '=', connector_id)
    .execute()

type Emptied = { at: Date; destination: Destination }
/** Deletes a connector and overwrites everything that could hold a secret. */
export const markConnectorDeleted = (tx: Tx, tenant: TenantId, id: string, { at, destination }: Emptied) =>
  tx
    .updateTable('siem_connectors')
    .set({ deleted_at: at, enabled: false, credential_jwe: null, destination: JSON.stringify(destination) })
    .where('tenant_id', '=', tenant)
    .where('connector_id', '=', id)
    .execute()

export const deleteStreams = (tx: Tx, tenant: TenantId, id: string) =>
  tx.deleteFrom('siem_streams').where('tenant_id', '=', tenant).where('connector_id', '=', id).execute()

/** State of a stream compared with the audit log, by the database's clock. */
export type StreamState = StreamRow & {
  lag_events: number
  next_seq: number | null
  oldest_at: Date | null
  as_of: Date
}
export async function streamStates(
  tx: Tx,
  tenant: TenantId,
  ids: readonly string[],
): Promise<Map<string, StreamState>> {
  const { rows } = await sql<StreamState>`
    select s.*, greatest(0, h.seq - s.after_seq) as lag_events, clock_timestamp() as as_of,
      next.seq as next_seq, next.sequenced_at as oldest_at
    from siem_streams s left join audit_heads h on h.tenant_id = s.tenant_id
    left join lateral (
      select l.seq, l.sequenced_at from audit_log l
      where l.tenant_id = ${tenant} and l.seq > s.after_seq and h.seq > s.after_seq order by l.seq limit 1
    ) as next on true
    where s.tenant_id = ${tenant} and s.stream_id = any(${[...ids]}::uuid[])`.execute(tx)
  return new Map(rows.map((row) => [row.stream_id, row]))
}

/**
 * Locks the streams with a problem that administrators may have been notified of. Until commit none recovers or fails.
 */
export async function lockTroubled(tx: Tx, tenant: TenantId, by: 'standing still' | 'dead letters'): Promise<string[]> {
  const rows = await tx
    .selectFrom('siem_streams')
    .select(['stream_id', 'state', 'failures', 'dead'])
    .where('tenant_id', '=', tenant)
    .where('from_at', 'is', null)
    .orderBy('stream_id')
    .forShare()
    .execute()
  const isTroubled = ({ state, failures, dead }: (typeof rows)[number]) =>
    by === 'dead letters' ? dead > 0 : state === 'parked' || (state === 'flowing' && failures > 0)
  return rows.filter(isTroubled).map((row) => row.stream_id)
}

type ForwardingState = {
  states: { disabled: number; active: number; retrying: number; parked: number }
  lag_events: number
  lag_seconds: number
  dead: number
  lost: number
}

/**
 * Across tenants: state of the delivery of all connectors. The backlog is looked up by sequence number, once for each
 * enabled connector.
 */
export async function forwardingState(tx: Tx): Promise<ForwardingState> {
  const { rows } = await sql<ForwardingState['states'] & Omit<ForwardingState, 'states'>>`
    select count(*) filter (where s.state = 'stopped') as disabled, count(*) filter (where s.state = 'parked') as parked,
      count(*) filter (where s.state = 'flowing' and s.failures = 0) as active,
      count(*) filter (where s.state = 'flowing' and s.failures > 0) as retrying,
      coalesce(max(h.seq - s.after_seq) filter (where s.state <> 'stopped'), 0) as lag_events,
      greatest(0, coalesce(max(extract(epoch from clock_timestamp() - next.sequenced_at)), 0))::float8 as lag_seconds,
      coalesce(sum(s.dead), 0) as dead, coalesce(sum(s.lost), 0) as lost
    from siem_streams s
    join tenants t on t.tenant_id = s.tenant_id and t.status <> 'deleted'
    left join audit_heads h on h.tenant_id = s.tenant_id
    left join lateral (
      select l.sequenced_at from audit_log l
      where l.tenant_id = s.tenant_id and l.seq > s.after_seq and h.seq > s.after_seq and s.state <> 'stopped'
      order by l.seq limit 1
    ) as next on true
    where s.from_at is null`.execute(tx)
  const { disabled = 0, active = 0, retrying = 0, parked = 0, ...rest } = rows[0] ?? nothing
  return { states: { disabled, active, retrying, parked }, ...rest }
}

const nothing = { disabled: 0, active: 0, retrying: 0, parked: 0, lag_events: 0, lag_seconds: 0, dead: 0, lost: 0 }

type Previous = { previous_credential_jwe: string | null; previous_until: RawBuilder<Date> | null }
const setPrevious = (tx: Tx, { tenant_id, connector_id }: ConnectorKey, previous: Previous) =>
  tx
    .updateTable('siem_connectors')
    .set(previous)
    .where('tenant_id', '=', tenant_id)
    .where('connector_id', '=', connector_id)
    .execute()

/** Time in which the previous secret stays valid, so that the receiver can switch. */
const previousHours = sql.lit(previousSecretHours)
/** Keeps the previous secret of a locked connector. For that time it signs in addition to the new one. */
export const keepPrevious = (tx: Tx, before: ConnectorKey & Pick<ConnectorRow, 'credential_jwe'>) =>
  setPrevious(tx, before, {
    previous_credential_jwe: before.credential_jwe,
    previous_until: sql<Date>`clock_timestamp() + ${previousHours} * interval '1 hour'`,
  })
export const endPrevious = (tx: Tx, of: ConnectorKey) =>
  setPrevious(tx, of, { previous_credential_jwe: null, previous_until: null })

const isPreviousOver = sql`previous_until <= clock_timestamp()`
/** Deletes previous secrets that are no longer valid. */
export const prunePrevious: Prune = {
  isDue: (tenant) =>
    sql<boolean>`exists (select from siem_connectors where tenant_id = ${tenant} and ${isPreviousOver})`,
  take: async (tx, tenant, limit) => {
    const { numAffectedRows } = await sql`
      with over as (
        select connector_id from siem_connectors where tenant_id = ${tenant} and ${isPreviousOver}
        order by connector_id limit ${limit} for no key update)
      update siem_connectors c set previous_credential_jwe = null, previous_until = null from over
      where c.tenant_id = ${tenant} and c.connector_id = over.connector_id`.execute(tx)
    return Number(numAffectedRows ?? 0)
  },
}

/** Returns when the first of the enabled connectors was made. */
export const firstConnectorAt = async (tx: Tx, tenant: TenantId): Promise<Date | undefined> => {
  const row = await tx
    .selectFrom('siem_connectors')
    .select('created_at')
    .where('tenant_id', '=', tenant)
    .where('enabled', '=', true)
    .where('deleted_at', 'is', null)
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst()
  return row?.created_at
}
