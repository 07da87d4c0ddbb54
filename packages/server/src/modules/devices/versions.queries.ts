import { sql } from 'kysely'
import type { Tx } from '../../db/database.ts'
import type { TenantId } from '../../kernel/actor.ts'

export type FleetVersions = {
  devices: number
  platforms: { platform: string; devices: number }[]
  client_versions: { client_version: string | null; devices: number }[]
  other_client_versions: number
  os_versions: { platform: string; os_version: string | null; devices: number }[]
  other_os_versions: number
}
type Row = {
  /** Value of `grouping()` for the row: 3 by platform, 5 by client version, 2 by platform and system, 7 all. */
  counted_by: number
  platform: string | null
  client_version: string | null
  os_version: string | null
  devices: number
}
const by = { platform: 3, client: 5, system: 2, all: 7 }

/** Devices by platform, client version and system, without revoked ones. Of the versions only the most frequent. */
export const countVersions = async (tx: Tx, tenant: TenantId, most: number): Promise<FleetVersions> => {
  const { rows } = await sql<Row>`
    select counted_by, platform, client_version, os_version, devices from (
      select grouping(platform, client_version, os_version) as counted_by, platform, client_version, os_version,
        count(*) as devices, row_number() over (partition by grouping(platform, client_version, os_version)
          order by count(*) desc, platform, client_version, os_version) as rank
      from devices where tenant_id = ${tenant} and status <> 'revoked'
      group by grouping sets ((platform), (client_version), (platform, os_version), ())) as counted
    where rank <= ${most} order by counted_by, rank`.execute(tx)
  const rowsBy = (counted: number) => rows.filter((r) => r.counted_by === counted)
  const devices = rowsBy(by.all)[0]?.devices ?? 0
  const client_versions = rowsBy(by.client).map((r) => ({ client_version: r.client_version, devices: r.devices }))
  const os_versions = rowsBy(by.system).map((r) => ({
    platform: r.platform!,
    os_version: r.os_version,
    devices: r.devices,
  }))
  const others = (listed: readonly { devices: number }[]) => devices - listed.reduce((n, l) => n + l.devices, 0)
  return {
    devices,
    platforms: rowsBy(by.platform).map((r) => ({ platform: r.platform!, devices: r.devices })),
    client_versions,
    other_client_versions: others(client_versions),
    os_versions,
    other_os_versions: others(os_versions),
  }
}

/**
 * Of the devices that apply one of these digests, the number that confirmed it after each of these times (ascending).
 */
export const appliedLater = async (
  tx: Tx,
  tenant: TenantId,
  digests: readonly string[],
  times: readonly Date[],
): Promise<number[]> => {
  const { rows } = await sql<{ after: number; devices: number }>`
    select width_bucket(applied_at, ${times}::timestamptz[]) as after, count(*) as devices from device_activity
    where tenant_id = ${tenant} and applied_digest = any(${digests}::text[]) and applied_at > ${times[0]}
    group by 1`.execute(tx)
  const counts = new Map(rows.map((r) => [r.after, r.devices]))
  const later = times.map(() => 0)
  let sum = 0
  for (let i = times.length; i > 0; i--) {
    sum += counts.get(i) ?? 0
    later[i - 1] = sum
  }
  return later
}
