import { sealTo } from '@holdfast/crypto'
import type { StoredCall } from '../../db/tables/workflows.ts'
import { callOf } from './definition.ts'

type Said = { changed?: boolean; lock?: { lock_id: string }; results?: { device_id: string; outcome: string }[] }
type TakesBack = {
  /** True if a call of the operation can be undone at all. */
  fits: (body: Record<string, unknown>) => boolean
  /** Returns the calls that undo its changes. Empty if it changed nothing. */
  calls: (body: Record<string, unknown>, said: Said) => StoredCall[]
  /** Reconstructs the answer of the operation from the audit events of its run. */
  said: (body: Record<string, unknown>, events: readonly RecordedEvent[]) => Said
}
/** The fields of an audit event that are needed here. */
export type RecordedEvent = {
  kind: string
  operation?: string
  target?: { type: string; id: string | null } | null
  lock_id?: string
}

/** Undo calls of each operation. A revocation, a published version and a rotation cannot be undone. */
const takesBack: Readonly<Record<string, TakesBack>> = {
  createLock: {
    fits: () => true,
    calls: (_, { lock, changed }) =>
      lock && changed ? [callOf('releaseLock', { params: { lock_id: lock.lock_id }, body: {} })] : [],
    said: ({ target }, events) => {
      const { type, id } = target as { type: string; id?: string }
      const made = events.find(
        (e) => e.kind === 'lock.set' && e.target?.type === type && (id === undefined || e.target.id === id),
      )
      return made?.lock_id === undefined ? {} : { changed: true, lock: { lock_id: made.lock_id } }
    },
  },
  suspendUser: {
    fits: () => true,
    calls: ({ user_id }, { changed }) =>
      changed ? [callOf('reactivateUser', { body: { user_id: String(user_id) } })] : [],
    said: ({ user_id }, events) => ({
      changed: events.some((e) => e.kind === 'user.changed' && e.operation === 'suspend' && e.target?.id === user_id),
    }),
  },
  changeDevices: {
    fits: ({ operation }) => operation === 'suspend',
    calls: (_, { results = [] }) => {
      const device_ids = results.filter((r) => r.outcome === 'changed').map((r) => r.device_id)
      return device_ids.length === 0 ? [] : [callOf('changeDevices', { body: { operation: 'reactivate', device_ids } })]
    },
    said: (_, events) => ({
      results: events.flatMap(({ kind, operation, target }) =>
        kind === 'device.changed' && operation === 'suspend' && target?.id
          ? [{ device_id: target.id, outcome: 'changed' }]
          : [],
      ),
    }),
  },
}
const bodyOf = ({ body = {} }: StoredCall) => body as Record<string, unknown>

export const isReversible = (call: StoredCall): boolean => takesBack[call.operation]?.fits(bodyOf(call)) ?? false
export const undoOf = (call: StoredCall, said: unknown): StoredCall[] =>
  isReversible(call) ? (takesBack[call.operation]?.calls(bodyOf(call), said as Said) ?? []) : []

/** Reconstructs the answer of an operation from the audit events of its run. */
export const resultInRecord = (call: StoredCall, events: readonly RecordedEvent[]): object =>
  takesBack[call.operation]?.said(bodyOf(call), events) ?? {}

/** Fields of an answer that a run stores: counts and names, never a secret. */
const kept = [
  'changed',
  'matched',
  'terminated',
  'sessions_terminated',
  'summary',
  'version',
  'digest',
  'mode',
  'anchor_id',
  'trust_anchor_version',
  'old_secret_valid_until',
  'warnings',
]
export const resultOf = (said: unknown): Record<string, unknown> => {
  const all = Object.entries((said ?? {}) as object)
  const result = Object.fromEntries(all.filter(([name]) => kept.includes(name)))
  const lock = (said as Said | undefined)?.lock
  return lock ? { ...result, lock_id: lock.lock_id } : result
}

/** Adds the secret in an answer, sealed so that only the recipient can open it. */
export async function sealedResultOf({ recipient }: StoredCall, said: unknown): Promise<Record<string, unknown>> {
  const { secret } = said as { secret?: string }
  return recipient && secret ? { ...resultOf(said), secret_jwe: await sealTo(recipient, secret) } : resultOf(said)
}
