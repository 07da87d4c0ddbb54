import type { Contract, Output } from '@holdfast/contract'
import { encodeId } from '../../../kernel/ids.ts'
import type { Replayed } from './replay.ts'

/** Most resources listed, those with the most sessions first. */
const mostResources = 100

export const viewReplay = ({
  examined,
  skipped,
  complete,
  blocked,
  byResource,
  shown,
}: Replayed): Output<Contract['replayPolicy']> => ({
  sessions_examined: examined,
  sessions_skipped: skipped,
  complete,
  sessions_blocked: blocked.sessions,
  devices_blocked: blocked.devices.size,
  users_blocked: blocked.users.size,
  resources: [...byResource]
    .map(([resource, { sessions, users }]) => ({ resource, sessions, users: users.size }))
    .toSorted((a, b) => b.sessions - a.sessions || (a.resource < b.resource ? -1 : 1))
    .slice(0, mostResources),
  blocked: shown.map((s) => ({
    session_id: encodeId('vpn_session', s.session_id),
    device_id: encodeId('device', s.device_id),
    user_id: s.user_id && encodeId('user', s.user_id),
    started_at: s.started_at.toISOString(),
    resource: s.resource,
    reason: s.reason,
  })),
})
