import type { ChangedKind } from '@holdfast/contract/stream'
import { useSyncExternalStore } from 'react'
import { queryClient } from './query-client.ts'
import { followStream } from './stream.ts'

/**
 * Prefixes of the routes that are read again when the stream names a kind: single objects and sums. Lists are not among
 * them: their rows stay until the reader refreshes (`useStale`).
 */
const followers: Partial<Record<ChangedKind | 'alert' | 'run' | 'gateway' | 'adoption', readonly string[]>> = {
  devices: ['GET /v1/admin/devices/{', 'GET /v1/admin/dashboard/overview', 'GET /v1/admin/start'],
  sessions: ['GET /v1/admin/sessions/{', 'GET /v1/admin/devices/{', 'GET /v1/admin/start'],
  tokens: ['GET /v1/admin/tokens/{', 'GET /v1/admin/start'],
  users: ['GET /v1/admin/users/{', 'GET /v1/admin/me'],
  grants: ['GET /v1/admin/me', 'GET /v1/admin/rbac', 'GET /v1/admin/users/{'],
  groups: ['GET /v1/admin/groups/{'],
  admin_sessions: ['GET /v1/admin/auth/sessions'],
  locks: ['GET /v1/admin/locks'],
  notifications: ['GET /v1/admin/notifications'],
  policy: ['GET /v1/admin/policy', 'GET /v1/admin/start'],
  certificates: ['GET /v1/admin/spc'],
  updates: ['GET /v1/admin/updates/releases/{'],
  runs: ['GET /v1/admin/workflows/runs/{'],
  alert: ['GET /v1/admin/notifications', 'GET /v1/admin/dashboard/overview'],
  run: ['GET /v1/admin/workflows/runs/{'],
  gateway: ['GET /v1/admin/gateway', 'GET /v1/admin/dashboard/overview', 'GET /v1/admin/start'],
  gateways: ['GET /v1/admin/gateway', 'GET /v1/admin/start'],
  adoption: ['GET /v1/admin/dashboard/overview', 'GET /v1/admin/policy'],
}

type Stale = { count: number; since: string }
/** Number of changes by kind since its list was read last. */
const stale = new Map<string, Stale>()
const listeners = new Set<() => void>()
/** Time by kind until which the stream's changes count as this page's own. The page reads that list again anyway. */
const ownUntil = new Map<string, number>()
const ownMs = 2_500

let expiresAt: { at: string; cause: 'idle' | 'absolute' } | undefined

const tell = () => {
  for (const listener of listeners) listener()
}
const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Returns the changes in a list since it was read; undefined if there are none. */
export const useStale = (kind: ChangedKind): Stale | undefined => useSyncExternalStore(subscribe, () => stale.get(kind))
/** Workflow run that the stream named last, and the time of that event. */
let latestRun: { id: string; at: number } | undefined
/** Returns the run that the stream named last: it has just started or finished a step. */
export const useLatestRun = () => useSyncExternalStore(subscribe, () => latestRun)
/** Returns the end of the session once the server has warned of it. */
export const useExpiry = () => useSyncExternalStore(subscribe, () => expiresAt)

/** Records that a list was read: it has no pending changes. */
export function markFresh(kind: ChangedKind): void {
  if (stale.delete(kind)) tell()
}
/** Announces a change by this page: events of that kind in the next 2.5 s count as the page's own. */
export function expectOwnChange(kind: ChangedKind): void {
  ownUntil.set(kind, Date.now() + ownMs)
}
/** Clears the expiry warning after the session was extended. */
export function forgetExpiry(): void {
  expiresAt = undefined
  tell()
}

/** Routes to read again, collected for 150 ms: several events often name one change. */
const gathered = new Set<string>()
const gatherMs = 150

/** Reads the shown data of these routes again, except pages of sorted lists: their rows stay. */
function refetch(prefixes: readonly string[]): void {
  const isFirst = gathered.size === 0
  for (const prefix of prefixes) gathered.add(prefix)
  if (!isFirst || gathered.size === 0) return
  setTimeout(() => {
    const wanted = [...gathered]
    gathered.clear()
    // A hidden page sends no requests. It reads everything again once it is visible (`stream.ts`).
    if (document.hidden) return
    void queryClient.invalidateQueries({
      predicate: ({ queryKey: [route, input] }) =>
        wanted.some((prefix) => String(route).startsWith(prefix)) && !isListPage(input),
    })
  }, gatherMs)
}

const isListPage = (input: unknown): boolean =>
  (input as { query?: { sort?: unknown } } | undefined)?.query?.sort !== undefined

type Changed = { changes: { kind: ChangedKind; ids: string[]; many: boolean }[] }

function takeChanged({ changes }: Changed): void {
  for (const { kind, ids, many } of changes) {
    refetch(followers[kind] ?? [])
    if ((ownUntil.get(kind) ?? 0) > Date.now()) continue
    const { count = 0, since = new Date().toISOString() } = stale.get(kind) ?? {}
    stale.set(kind, { count: count + (many ? Math.max(ids.length, 50) : ids.length || 1), since })
  }
  tell()
}

/** Follows the stream of changes of the tenant. */
export function followChanges(): void {
  const refetching = (name: 'alert' | 'gateway' | 'adoption') => () => void refetch(followers[name] ?? [])
  followStream({
    changed: (data) => takeChanged(data as Changed),
    alert: refetching('alert'),
    gateway: refetching('gateway'),
    adoption: refetching('adoption'),
    run: (data) => {
      void refetch(followers.run ?? [])
      const id = (data as { ids: string[] }).ids.at(-1)
      if (id) latestRun = { id, at: Date.now() }
      tell()
    },
    expires: (data) => {
      expiresAt = data as NonNullable<typeof expiresAt>
      tell()
    },
  })
}
