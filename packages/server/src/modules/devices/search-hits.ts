import { joinDetail, type SearchHit, type StoredSource } from '../../db/search.ts'
import { addressNumbersOf, overlayAddressesOf } from './address.ts'
import { type DeviceTransition, deviceTransitions } from './devices.queries.ts'
import { findDeviceHits, findIdsByAddress } from './find.queries.ts'
import { effectiveStatusOf } from './view.ts'

/** Devices in search results, found by name, serial number or overlay address. */
export const createDeviceHits = ({ now }: { now: () => Date }): StoredSource => ({
  kind: 'device',
  noun: 'device',
  find: async (tx, { tenantId }, ids) => {
    const at = now()
    const rows = await findDeviceHits(tx, tenantId, ids, at)
    return rows.map((row): SearchHit => {
      const isRevoked = row.status === 'revoked'
      const allowed = (Object.keys(deviceTransitions) as DeviceTransition[]).filter((move) =>
        (deviceTransitions[move].from as readonly string[]).includes(row.status),
      )
      return {
        id: row.device_id,
        name: row.name,
        detail: joinDetail(
          row.platform,
          row.serial,
          !isRevoked && overlayAddressesOf(tenantId, row.address_number).ipv4,
        ),
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
