import { randomUUID } from 'node:crypto'
import type { Database, Tx } from '../db/database.ts'
import type { TenantId } from '../kernel/actor.ts'
import { BoundedMap } from '../kernel/bounded-map.ts'
import { second } from '../kernel/time.ts'
import type { Feed } from './feed.ts'

/** Topics of signals between replicas: events that are not in the change log. Subjects are UUIDs. */
type SignalTopic = 'audit' | 'notification' | 'vpn_session' | 'workflow_run' | 'gateway' | 'adoption'
/** `many`: more than the limit, or unknown subjects. */
export type Subjects = readonly string[] | 'many'
/** `isRemote`: the signal came from another replica. */
type Listener = (tenant: TenantId, topic: SignalTopic, subjects: Subjects, isRemote: boolean) => void

const mostSubjects = 50
/**
 * Interval at which a replica announces its watched tenants. Others keep the announcement longer, in case one is lost.
 */
const watchAgainMs = 40 * second
const watchedForMs = 120 * second
const tenantsOfPayload = 150
const mostTenants = 10_000

/**
 * Signals tell the current watchers of a tenant, on any replica, that something happened. They are not stored: after a
 * possible loss, `onLost` asks for a full check. A tenant without watchers costs one look-up in memory.
 */
export function createSignals({
  db,
  feed,
}: {
  db: Pick<Database, 'afterCommit'>
  feed: Pick<Feed, 'carry' | 'onBeat'>
}) {
  const replica = randomUUID().slice(0, 8)
  const here = new Map<TenantId, number>()
  const elsewhere = new BoundedMap<TenantId, number>(mostTenants)
  const toSend = new Map<string, { tenant: TenantId; topic: SignalTopic; subjects: Set<string> | 'many' }>()
  const listeners: Listener[] = []
  const begun: ((tenant: TenantId) => void)[] = []
  const lost: (() => void)[] = []
  let asks = false
  let announces = new Set<TenantId>()
  let announcedAt = performance.now()

  const loseAll = () => {
    for (const look of lost) look()
  }
  const announceAll = () => {
    announces = new Set(here.keys())
    announcedAt = performance.now()
    if (announces.size > 0) post()
  }
  const post = feed.carry({
    take: () => {
      const payloads: string[] = []
      if (asks) payloads.push(`${replica}|who`)
      const tenants = [...announces]
      for (let i = 0; i < tenants.length; i += tenantsOfPayload)
        payloads.push(`${replica}|watch|${tenants.slice(i, i + tenantsOfPayload).join(',')}`)
      for (const { tenant, topic, subjects } of toSend.values())
        payloads.push(`${replica}|tell|${tenant}|${topic}|${subjects === 'many' ? subjects : [...subjects].join(',')}`)
      asks = false
      announces = new Set()
      toSend.clear()
      return payloads
    },
    onNotification: (payload) => {
      const [from, word, named = '', topic, subjects = ''] = payload.split('|')
      if (from === replica) return
      const tenants = named.split(',') as TenantId[]
      const [tenant] = tenants
      if (word === 'who') {
        // The other replica has a new connection: its signals on the previous one may be lost.
        announceAll()
        loseAll()
      } else if (word === 'watch') {
        const until = performance.now() + watchedForMs
        for (const each of tenants) elsewhere.set(each, until)
      } else if (word === 'tell' && tenant && here.has(tenant))
        tellHere(tenant, topic as SignalTopic, subjects === 'many' ? subjects : subjects.split(','), true)
    },
    connected: () => {
      asks = true
      announceAll()
      post()
      loseAll()
    },
  })
  feed.onBeat(() => {
    if (here.size > 0 && performance.now() - announcedAt > watchAgainMs) announceAll()
  })

  const isWatchedElsewhere = (tenant: TenantId) => (elsewhere.get(tenant) ?? 0) > performance.now()
  function tellHere(tenant: TenantId, topic: SignalTopic, subjects: Subjects, isRemote = false): void {
    if (here.has(tenant)) for (const listen of listeners) listen(tenant, topic, subjects, isRemote)
  }
  function deliverSignal(tenant: TenantId, topic: SignalTopic, subjects: Subjects): void {
    tellHere(tenant, topic, subjects)
    if (!isWatchedElsewhere(tenant)) return
    const key = `${tenant}|${topic}`
    const waiting = toSend.get(key) ?? { tenant, topic, subjects: new Set<string>() }
    toSend.set(key, waiting)
    if (waiting.subjects !== 'many' && subjects !== 'many') for (const each of subjects) waiting.subjects.add(each)
    if (subjects === 'many' || (waiting.subjects !== 'many' && waiting.subjects.size > mostSubjects))
      waiting.subjects = 'many'
    post()
  }

  return {
    tell: deliverSignal,
    /** For an event that every replica finds by itself. */
    tellHere,
    /** Sends the signal after the commit. */
    tellAfter: (tx: Tx, tenant: TenantId, topic: SignalTopic, subjects: Subjects): void =>
      db.afterCommit(tx, () => deliverSignal(tenant, topic, subjects)),
    listen: (listener: Listener): void => void listeners.push(listener),
    /** Calls when the first watcher of a tenant starts here. */
    onBegun: (call: (tenant: TenantId) => void): void => void begun.push(call),
    /** Calls when signals of other replicas may have been lost: after a reconnect here or of another replica. */
    onLost: (call: () => void): void => void lost.push(call),
    /** Watches until the returned function is called. */
    watch: (tenant: TenantId): (() => void) => {
      const before = here.get(tenant) ?? 0
      here.set(tenant, before + 1)
      if (before === 0) {
        announces.add(tenant)
        post()
        for (const call of begun) call(tenant)
      }
      let isOver = false
      return () => {
        if (isOver) return
        isOver = true
        const left = (here.get(tenant) ?? 1) - 1
        if (left > 0) here.set(tenant, left)
        else here.delete(tenant)
      }
    },
    isWatchedHere: (tenant: TenantId): boolean => here.has(tenant),
    isWatched: (tenant: TenantId): boolean => here.has(tenant) || isWatchedElsewhere(tenant),
  }
}
export type Signals = ReturnType<typeof createSignals>
