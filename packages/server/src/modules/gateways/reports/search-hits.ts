import { joinDetail, type SessionSource } from '../../../db/search.ts'
import { encodeId } from '../../../kernel/ids.ts'
import { findActiveOf } from './search-hits.queries.ts'

/** Search hits of active VPN sessions. */
export const sessionHits: SessionSource = {
  findOf: async (tx, { tenantId }, { sessionId, deviceIds, userIds }, most) => {
    const found = [
      ...(sessionId === undefined ? [] : await findActiveOf(tx, tenantId, 'session_id', [sessionId], most)),
      ...(deviceIds.length === 0 ? [] : await findActiveOf(tx, tenantId, 'device_id', deviceIds, most)),
      ...(userIds.length === 0 ? [] : await findActiveOf(tx, tenantId, 'user_id', userIds, most)),
    ]
    return found.map((s) => ({
      id: s.session_id,
      name: s.device_name ?? encodeId('device', s.device_id),
      detail: joinDetail(s.assigned_ip, s.source_ip),
      status: 'active',
      allows: ['terminate'],
      deviceId: s.device_id,
      userId: s.user_id,
    }))
  },
}
