import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import {
  Closed,
  expiresInSeconds,
  Id,
  List,
  ListQuery,
  Nullable,
  OneOf,
  Party,
  Reason,
  Time,
  Warnings,
  WasChanged,
} from './schema.ts'
import { lockTargets } from './vocabulary.ts'

export const Lock = Closed(
  {
    lock_id: Id('lock'),
    target: Closed({ type: OneOf(lockTargets), id: Type.String(), name: Nullable(Type.String()) }),
    status: OneOf(['active', 'released']),
    reason: Type.String(),
    created_by: Party,
    created_at: Time,
    expires_at: Nullable(Time),
    released_by: Nullable(Party),
    released_at: Nullable(Time),
  },
  { title: 'Lock', description: 'A lock denies access to its target, in every status, until the lock is released' },
)
const params = Closed({ lock_id: Id('lock') })
const access = { by: ['session', 'api_key'], permission: 'incidents:run' } as const

export const listLocks = endpoint({
  method: 'GET',
  path: '/v1/admin/locks',
  summary: 'List locks',
  access: { by: ['session', 'api_key'], permission: 'incidents:read' },
  query: ListQuery(
    { status: Type.Optional(OneOf(['active', 'released', 'all'])), target_type: Type.Optional(OneOf(lockTargets)) },
    ['created_at'] as const,
    '-created_at',
  ),
  response: List(Lock),
})

export const getLock = endpoint({
  method: 'GET',
  path: '/v1/admin/locks/{lock_id}',
  summary: 'Get a lock',
  access: { by: ['session', 'api_key'], permission: 'incidents:read' },
  params,
  response: Lock,
})

export const createLock = endpoint({
  method: 'POST',
  path: '/v1/admin/locks',
  summary: 'Create a lock',
  description:
    'A lock denies access at once and everywhere. It is for a user, a device, a gateway, the devices of a group, or all devices of the tenant.',
  access,
  audit: 'lock.set',
  status: 201,
  body: Closed({
    target: Closed({
      type: OneOf(lockTargets),
      id: Type.Optional(
        Type.String({ maxLength: 64, description: 'TypeID of the target. For the type `tenant` it is the own tenant' }),
      ),
    }),
    reason: Reason,
    expires_in_seconds: expiresInSeconds(90, 'without it the lock lasts until it is released'),
  }),
  response: Closed({
    lock: Lock,
    changed: Type.Boolean({ description: 'False: the target was locked already. `lock` is that lock, unchanged' }),
    warnings: Warnings,
  }),
})

export const releaseLock = endpoint({
  method: 'POST',
  path: '/v1/admin/locks/{lock_id}/release',
  summary: 'Release a lock',
  description: 'The target has the access again that it would have without the lock.',
  access,
  audit: 'lock.released',
  params,
  body: Closed({ reason: Type.Optional(Reason) }),
  response: Closed({ lock: Lock, changed: WasChanged }),
})
