import { Connection, connectionOptions } from '../db/connection.ts'
import type { TenantId } from '../kernel/actor.ts'
import { type Change, type ChangeKind, changeKinds, everything, type Moment } from './changes.ts'

const answerWithinMs = 1500
/** Signals have a channel of their own: replicas of earlier versions do not know them. */
const signalChannel = 'holdfast_signals'

/** Where a tenant stands: its newest number, and when that was given (ms). */
export type Standing = [tenant: TenantId, seq: number, atMs: number]
/**
 * What a heartbeat is told: how many tenants there are, the sum of their numbers, and where those stand that changed
 * lately. Together with what is known of the others that says whether all of them are as they were.
 */
type Beat = { atMs: number; tenants: number; seqs: number; lately: Standing[] }
/** A place in the change log: after the row with this key. */
export type Place = { seq: number; kind: string; subject: string }
export type LoggedChange = Change & { seq: number; atMs: number }

const standing = `json_agg(json_build_array(tenant_id, seq, extract(epoch from changed_at) * 1000))`
/** Planned once, since it is asked twice in a second for good. No transaction takes as long as that is lately. */
const heartbeat = `select across_tenants() as scoped, pg_is_in_recovery() as standby,
    extract(epoch from clock_timestamp()) * 1000 as at_ms, count(*) as tenants, coalesce(sum(seq), 0) as seqs,
    coalesce(${standing} filter (where changed_at > now() - interval '5 minutes'), '[]') as lately
  from tenant_epochs`
const whereAllStand = `select coalesce(${standing}, '[]') as tenants from tenant_epochs`

/** Messages that travel over the feed's connection beside the changes. */
export type Mail = {
  /** The messages to send. The feed asks again after more is announced. */
  take: () => readonly string[]
  heard: (payload: string) => void
  /** The connection is a new one: messages that others sent before it are lost. */
  connected: () => void
}

/** The feed's own connection. Any failure ends it for good: nothing is left open, nothing half done is gone on with. */
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
    // An end that nobody answers to would leave the connection open.
    setTimeout(() => client.cut(), 200).unref()
  }
  client.on('error', close)
  client.on('end', close)
  client.on('notification', ({ payload = '', channel }) =>
    channel === signalChannel ? onSignal(payload) : onHeard(payload),
  )

  /** One that is not answered in time is cut. */
  const asked = async <T>(answer: Promise<T>): Promise<T> => {
    const stay = client.cutAfter(answerWithinMs)
    try {
      return await answer
    } finally {
      stay()
    }
  }

  /** The scope stands in the same message as the question, where nothing between here and the database can drop it. */
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
      /** Another value for another database, or for the same one after it was set back or taken over by a standby. */
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
          lately: Standing[]
        }
        const [row] = await ask<Row>('*', 'execute heartbeat')
        if (!row?.scoped) throw new Error('the change feed may not see all tenants, so that it proves nothing')
        if (row.standby) throw new Error('the change feed reads a standby, which may be behind')
        const { tenants, seqs, lately } = row
        return { atMs: Number(row.at_ms), tenants: Number(tenants), seqs: Number(seqs), lately }
      },
      /** Of every tenant; costs more with each. */
      whereAllStand: async (): Promise<Standing[]> =>
        (await ask<{ tenants: Standing[] }>('*', whereAllStand))[0]?.tenants ?? [],
      momentOf: async (tenant: TenantId): Promise<Moment | undefined> => {
        const [row] = await ask<{ seq: string; at_ms: string }>(
          '*',
          `select seq, extract(epoch from changed_at) * 1000 as at_ms from tenant_epochs where tenant_id = '${uuid(tenant)}'`,
        )
        return row && { seq: Number(row.seq), atMs: Number(row.at_ms) }
      },
      changesAfter: async (tenant: TenantId, after: Place, limit: number): Promise<LoggedChange[]> => {
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
       * Takes a tenant that was set back past every number it ever gave out, also past those that only other replicas
       * have heard of, as a change of everything. The gap before it tells the others that they can't follow.
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

/** Each part is left out where this server or these rights do not give it; a connection never changes its answer. */
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
