import { sql } from 'kysely'
import { decodeId } from '../../../src/kernel/ids.ts'
import { type enroll, newSession, report, type withGateway } from '../actors/gateways.ts'
import { type Kit, runJob } from '../deployment/deployment.ts'

export type Device = Awaited<ReturnType<typeof enroll>>
type Client = Awaited<ReturnType<typeof withGateway>>['client']
type Fields = Record<string, unknown>

/** Sets the period for which the deployment has listened without a break; it ends some seconds ago. */
export const listenedFor = (kit: Kit, seconds: number, untilSecondsAgo = 0) =>
  kit.db.acrossTenants((tx) =>
    sql`insert into listening as l (since, heard_at)
      select until - interval '1 second' * ${seconds}, until
      from (select clock_timestamp() - interval '1 second' * ${untilSecondsAgo} as until) as u
      on conflict (there_is_one) do update set since = excluded.since, heard_at = excluded.heard_at`.execute(tx),
  )

/** Helpers to report connections by gateways (`client` by default) and by devices, and to read the result. */
export function createWitnesses(kit: Kit, client: Client) {
  const { admin } = kit
  const meter = (device: Device, session_id: string, more: Fields = {}, by = client) =>
    by.metering({
      body: report([{ session_id, device_id: device.id, state: 'active', rx_bytes: 1, tx_bytes: 1, ...more }]),
    })
  const say = (device: Device, kind: 'connected' | 'disconnected' | 'quality', more: Fields) =>
    device.client.telemetry({
      body: { events: [{ event_id: newSession(), kind, at: new Date().toISOString(), ...more }] },
    })
  /** Moves everything reported about this device back in time. */
  const later = (device: Device, seconds: number) =>
    kit.db.inTenant(kit.tenant, async (tx) => {
      const [id, by] = [decodeId('device', device.id), sql`interval '1 second' * ${seconds}`]
      await sql`update vpn_sessions set started_at = started_at - ${by}, last_seen_at = last_seen_at - ${by},
        ended_at = ended_at - ${by}, defied_since = defied_since - ${by}
        where tenant_id = ${kit.tenant} and device_id = ${id}`.execute(tx)
      await sql`update device_claims set since = since - ${by}, said_at = said_at - ${by}
        where tenant_id = ${kit.tenant} and device_id = ${id}`.execute(tx)
      await sql`update connections_in_question set judge_at = judge_at - ${by}, since = since - ${by}
        where tenant_id = ${kit.tenant} and device_id = ${id}`.execute(tx)
    })
  const truthOf = async (device: Device, verdict?: 'stale' | 'conflict' | 'unauthorized') =>
    (await admin.connectionTruth({ query: { device_id: device.id, ...(verdict && { verdict }) } })).items
  const alerts = async (kind: 'connection.stale' | 'connection.conflict' | 'connection.unauthorized') =>
    (await admin.listNotifications({ query: { kind } })).items.map((n) => n.title)
  const judge = () => runJob(kit.app, 'judge_connections')
  const beat = (by = client) => by.heartbeat({ body: { boot_id: 'boot-1', active_sessions: 1 } })

  return { meter, say, later, truthOf, alerts, judge, beat }
}
