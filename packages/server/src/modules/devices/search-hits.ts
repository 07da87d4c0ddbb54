import type { Found, StoredSource } from '../../kernel/search.ts'
import { joinDetail } from '../../kernel/search.ts'
import { addressesOf, addressNumbersOf } from './address.ts'
import { type Move, moves } from './devices.queries.ts'
import { findDevices, findIdsByAddress } from './search-hits.queries.ts'
import { effectiveStatusOf } from './view.ts'

/** Devices in search results, found by name, serial number or overlay address. */
export const createDeviceHits = ({ now }: { now: () => Date }): StoredSource => ({
  kind: 'device',
  noun: 'device',
  find: async (tx, { tenantId }, ids) => {
    const at = now()
    const rows = await findDevices(tx, tenantId, ids, at)
    return rows.map((row): Found => {
      const isRevoked = row.status === 'revoked'
      const allowed = (Object.keys(moves) as Move[]).filter((move) =>
        (moves[move].from as readonly string[]).includes(row.status),
      )
      return {
        id: row.device_id,
        name: row.name,
        detail: joinDetail(row.platform, row.serial, !isRevoked && addressesOf(tenantId, row.address_number).ipv4),
        status: effectiveStatusOf(row, at).status,
        allows: isRevoked ? [] : [...allowed, 'lost_device'],
      }
    })
  },
  findIds: async (tx, { tenantId }, text, most) => {
    const range = addressNumbersOf(tenantId, text)
    return range ? findIdsByAddress(tx, tenantId, range, most) : []
  },
})
