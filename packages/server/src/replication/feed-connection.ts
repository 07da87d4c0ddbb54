import { Connection, connectionOptions } from '../db/connection.ts'
import type { TenantId } from '../kernel/actor.ts'
import { type Change, type ChangeKind, changeKinds, everything, type Moment } from './changes.ts'

const answerWithinMs = 1500
/** Separate channel for signals, since replicas of earlier versions do not know them. */
const signalChannel = 'holdfast_signals'

/** Position of a tenant: its newest sequence number and the time of it (ms). */
export type TenantPosition = [tenant: TenantId, seq: number, atMs: number]
/**
 * Result of a heartbeat: number of tenants, sum of their sequence numbers, and positions of recently changed ones. With
 * the known positions of the others, it shows whether all of them are unchanged.
 */
type Beat = { atMs: number; tenants: number; seqs: number; recentTenants: TenantPosition[] }
/** Position in the change log: after the row with this key. */
export type LogPlace = { seq: number; kind: string; subject: string }
export type LoggedChange = Change & { seq: number; atMs: number }

const tenantPositions = `json_agg(json_build_array(tenant_id, seq, extract(epoch from changed_at) * 1000))`
/** Planned once, since it runs twice per second. No transaction takes longer than the period of recent changes. */
const heartbeat = `select across_tenants() as scoped, pg_is_in_recovery() as standby,
    extract(epoch from clock_timestamp()) * 1000 as at_ms, count(*) as tenants, coalesce(sum(seq), 0) as seqs,
    coalesce(${tenantPositions} filter (where changed_at > now() - interval '5 minutes'), '[]') as recent_tenants
  from tenant_epochs`
const whereAllStand = `select coalesce(${tenantPositions}, '[]') as tenants from tenant_epochs`

/** Messages that use the feed's connection besides the changes. */
export type Mail = {
  /** Returns the messages to send. The feed calls it again after more is announced. */
  take: () => readonly string[]
  onNotification: (payload: string) => void
  /** The connection is new: messages that others sent before it are lost. */
  connected: () => void
}

/** The feed's own connection. Any failure closes it for good: nothing stays open, and no unfinished work continues. */
export async function connectFeed(
  url: string,
  onHeard: (payload: string) => void,
  presence: readonly (readonly [number, number])[] = [],
  onSignal: (payload: string) => void = () => {},
) {
  const client = new Connection({
    connectionString: url,
    options: connectionOptions,
    application_name: 'holdfast feed',
    connectionTimeoutMillis: answerWithinMs,
  })
  let open = true
  const close = () => {
    if (!open) return
    open = false
    client.end().catch(() => {})
    // If `end` gets no answer, the connection would stay open.
    setTimeout(() => client.cut(), 200).unref()
  }
  client.on('error', close)
  client.on('end', close)
  client.on('notification', ({ payload = '', channel }) =>
    channel === signalChannel ? onSignal(payload) : onHeard(payload),
  )

  /** Cuts the connection if the answer does not come in time. */
  const asked = async <T>(answer: Promise<T>): Promise<T> => {
    const stay = client.cutAfter(answerWithinMs)
    try {
      return await answer
    } finally {
      stay()
    }
  }

  /** The scope is in the same message as the query, so that no pooler can drop it. */
  const ask = async <R>(scope: string, question: string, access = 'read only'): Promise<R[]> => {
    const text = `begin ${access}; set local holdfast.tenant = '${scope}'; ${question}; commit`
    const results = (await asked(client.query(text))) as unknown
    return (results as { rows: R[] }[])[2]!.rows
  }

  const send = (channel: string, payloads: readonly string[]) =>
    asked(client.query('select pg_notify($2, payload) from unnest($1::text[]) as payload', [payloads, channel]))

  try {
    await client.connect()
    await asked(client.query('listen holdfast'))
    await asked(client.query(`listen ${signalChannel}`))
    for (const lock of presence) await asked(client.query('select pg_advisory_lock_shared($1, $2)', [...lock]))
    await asked(client.query(`prepare heartbeat as ${heartbeat}`))
    const database = await asked(identify(client))

    return {
      /** Identity of the database. It changes for another database, and after a restore or a failover to a standby. */
      database,
      close,
      isOpen: () => open,
      beat: async (): Promise<Beat> => {
        type Row = {
          scoped: boolean
          standby: boolean
          at_ms: string
          tenants: string
          seqs: string
          recent_tenants: TenantPosition[]
        }
        const [row] = await ask<Row>('*', 'execute heartbeat')
        if (!row?.scoped) throw new Error('the change feed cannot see all tenants: check the role of the database user')
        if (row.standby)
          throw new Error('the change feed is connected to a standby, which may lag: connect to the primary')
        const { tenants, seqs, recent_tenants: recentTenants } = row
        return { atMs: Number(row.at_ms), tenants: Number(tenants), seqs: Number(seqs), recentTenants }
      },
      /** Reads all tenants. Its cost grows with their number. */
      whereAllStand: async (): Promise<TenantPosition[]> =>
        (await ask<{ tenants: TenantPosition[] }>('*', whereAllStand))[0]?.tenants ?? [],
      momentOf: async (tenant: TenantId): Promise<Moment | undefined> => {
        const [row] = await ask<{ seq: string; at_ms: string }>(
          '*',
          `select seq, extract(epoch from changed_at) * 1000 as at_ms from tenant_epochs where tenant_id = '${uuid(tenant)}'`,
        )
        return row && { seq: Number(row.seq), atMs: Number(row.at_ms) }
      },
      changesAfter: async (tenant: TenantId, after: LogPlace, limit: number): Promise<LoggedChange[]> => {
        const rows = await ask<{ seq: string; kind: ChangeKind; subject: string; at_ms: string }>(
          uuid(tenant),
          `select seq, kind, subject, extract(epoch from at) * 1000 as at_ms from changes
           where tenant_id = '${uuid(tenant)}'
             and (seq, kind, subject) > (${after.seq}, ${client.escapeLiteral(after.kind)}, '${uuid(after.subject)}')
           order by seq, kind, subject limit ${limit}`,
        )
        return rows.map((r) => ({ kind: r.kind, subject: r.subject, seq: Number(r.seq), atMs: Number(r.at_ms) }))
      },
      /**
       * Advances a restored tenant past every number it issued, also past those that only other replicas know, as a
       * change of everything. The gap tells the other replicas to reload.
       */
      raise: (tenant: TenantId, above: number) =>
        ask(
          uuid(tenant),
          `with epoch as (update tenant_epochs set seq = greatest(seq, ${above}) + 1000, changed_at = greatest(changed_at, clock_timestamp())
             where tenant_id = '${uuid(tenant)}' returning tenant_id, seq, changed_at)
           insert into changes (tenant_id, seq, kind, subject, at)
           select tenant_id, seq, kind, '${everything}', changed_at from epoch, unnest(array['${changeKinds.join("','")}']) as kind`,
          'read write',
        ),
      notify: (payloads: readonly string[]) => send('holdfast', payloads),
      signal: (payloads: readonly string[]) => send(signalChannel, payloads),
    }
  } catch (e) {
    close()
    throw e
  }
}
export type FeedConnection = Awaited<ReturnType<typeof connectFeed>>

const uuid = (id: string): string => {
  if (!/^[0-9a-f-]{36}$/.test(id)) throw new Error('not a UUID')
  return id
}

/**
 * Each part is left out if this server or these permissions do not provide it. The result never changes within a
 * connection.
 */
async function identify(client: Connection): Promise<string> {
  const parts = [
    'select oid::text as part from pg_database where datname = current_database()',
    'select system_identifier::text as part from pg_control_system()',
    'select left(pg_walfile_name(pg_current_wal_lsn()), 8) as part',
  ]
  const found = []
  for (const question of parts)
    found.push(
      await client.query<{ part: string }>(question).then(
        (r) => r.rows[0]?.part,
        (e: { code?: string }) => {
          if (e.code === undefined) throw e
          return e.code
        },
      ),
    )
  return found.join('/')
}
