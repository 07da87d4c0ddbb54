import type { Actor, TenantId } from '../../kernel/actor.ts'
import { tooMany } from '../../kernel/app-error.ts'
import { everything } from '../../replication/changes.ts'
import { ChangeBatch } from './batch.ts'
import { createCheck } from './check.ts'
import type { StreamDeps } from './deps.ts'
import type { OpenStream } from './open-stream.ts'
import { missedSince } from './resume.ts'
import { Watch } from './watch.ts'

/** Most open streams of one session or API key. One more ends the oldest. */
const mostOfCaller = 3
/** A replaced stream stays open until its client reads the last event, or until the database answers. */
const mostOfCallerWithEnded = 2 * mostOfCaller
/** Most streams of all sessions and API keys of a person. */
const mostOfPerson = 20
const mostOfTenant = 200
const mostOfAll = 2000

const tooManyStreams = () => tooMany('open event streams', 30)

/** All open streams of this replica. It does nothing while there is none. */
export function createHub(deps: StreamDeps) {
  const { changes, signals, feed, audit, now, onError } = deps
  const watches = new Map<TenantId, Promise<Watch>>()
  const watching = new Map<TenantId, Watch>()
  const open = new Set<OpenStream>()
  const ofTenant = new Map<TenantId, number>()
  /** Streams by the subject of the changes that may end or alter them, such as `user:<uuid>`. */
  const bySubject = new Map<string, Set<OpenStream>>()
  const check = createCheck(deps)
  let isStopped = false

  const checkSoon = (subject: string): void => {
    for (const stream of bySubject.get(subject) ?? []) check(stream).catch(onError)
  }
  changes.listen('waiters', {
    changed: (tenant, list) => {
      if (open.size === 0) return
      for (const { kind, subject } of list) {
        if (kind === 'settings' || kind === 'tenant' || subject === everything) checkSoon(`tenant:${tenant}`)
        else checkSoon(`${kind}:${subject}`)
      }
      const watch = watching.get(tenant)
      if (!watch) return
      watch.note((batch) => {
        for (const change of list) batch.change(change)
      })
      // A change is in the audit log too, so its event is found even if its signal is lost.
      watch.lookAtAudit()
    },
    forgotten: (tenant) => {
      for (const watch of watching.values())
        if (tenant === undefined || watch.tenant === tenant) watch.note((batch) => batch.reset())
      for (const stream of open) if (tenant === undefined || stream.tenant === tenant) check(stream).catch(onError)
    },
  })
  signals.listen((tenant, topic, subjects) => {
    const watch = watching.get(tenant)
    if (topic === 'audit') watch?.lookAtAudit()
    else watch?.note((batch) => batch.signal(topic, subjects))
  })
  signals.onLost(() => {
    for (const watch of watching.values()) {
      watch.note((batch) => batch.signalsLost())
      watch.lookAtAudit()
    }
  })
  feed.onBeat(() => {
    if (open.size === 0) return
    const at = now().getTime()
    for (const stream of open) {
      if (stream.checkAt <= at || stream.isChecking) check(stream).catch(onError)
      stream.beat()
    }
  })

  async function begin(tenant: TenantId): Promise<Watch> {
    const unwatch = signals.watch(tenant)
    try {
      const watch = new Watch(tenant, await audit.headOf(tenant), deps, unwatch)
      watching.set(tenant, watch)
      return watch
    } catch (e) {
      unwatch()
      watches.delete(tenant)
      throw e
    }
  }
  function watchOf(tenant: TenantId): Promise<Watch> {
    const known = watches.get(tenant) ?? begin(tenant)
    watches.set(tenant, known)
    return known
  }
  function leave(stream: OpenStream): void {
    if (!open.delete(stream)) return
    for (const subject of subjectsOf(stream.actor)) {
      const streams = bySubject.get(subject)
      streams?.delete(stream)
      if (streams?.size === 0) bySubject.delete(subject)
    }
    const left = (ofTenant.get(stream.tenant) ?? 1) - 1
    if (left > 0) ofTenant.set(stream.tenant, left)
    else ofTenant.delete(stream.tenant)
    watching.get(stream.tenant)?.streams.delete(stream)
    endUnused(stream.tenant)
  }
  /** Stops watching a tenant without a stream. */
  function endUnused(tenant: TenantId): void {
    const watch = watching.get(tenant)
    if (!watch || ofTenant.has(tenant)) return
    watch.end()
    watching.delete(tenant)
    watches.delete(tenant)
  }
  function isOfMany({ actor }: OpenStream): boolean {
    const person = personOf(actor)
    return person !== null && (bySubject.get(`user:${person}`)?.size ?? 0) >= mostOfPerson
  }
  function enter(stream: OpenStream): void {
    const tenant = stream.tenant
    const ofCaller = [...(bySubject.get(credentialOf(stream.actor)) ?? [])]
    if (ofCaller.length >= mostOfCallerWithEnded) throw tooManyStreams()
    const own = ofCaller.filter((s) => !s.isEnded)
    if (own.length >= mostOfCaller) own[0]?.end('replaced')
    else if (open.size >= mostOfAll || (ofTenant.get(tenant) ?? 0) >= mostOfTenant || isOfMany(stream))
      throw tooManyStreams()
    open.add(stream)
    ofTenant.set(tenant, (ofTenant.get(tenant) ?? 0) + 1)
    for (const subject of subjectsOf(stream.actor))
      bySubject.set(subject, (bySubject.get(subject) ?? new Set()).add(stream))
  }

  return {
    /**
     * Returns the bytes of the stream until it ends. `lastEventId`: the last event that the client reports to have
     * read.
     */
    open: async (stream: OpenStream, lastEventId: string | undefined, clientGone: AbortSignal) => {
      if (isStopped) stream.end('stopping')
      enter(stream)
      // Needed even if nobody starts to read the bytes.
      clientGone.addEventListener('abort', () => leave(stream), { once: true })
      try {
        const watch = await watchOf(stream.tenant)
        if (clientGone.aborted) {
          // The client disconnected before the tenant was watched.
          endUnused(stream.tenant)
          return stream.bytes(clientGone, { id: watch.id, missed: new ChangeBatch() })
        }
        watch.streams.add(stream)
        if (!feed.isFresh()) await feed.catchUp()
        const { id } = watch
        const missed = await missedSince(deps, stream.tenant, lastEventId, id)
        await check(stream)
        if (clientGone.aborted) leave(stream)
        return until(stream.bytes(clientGone, { id, missed }), () => leave(stream))
      } catch (e) {
        leave(stream)
        throw e
      }
    },
    count: () => open.size,
    /** Ends all streams; those that open later end at once. */
    stop: (): void => {
      isStopped = true
      for (const stream of open) stream.end('stopping')
    },
  }
}
export type Hub = ReturnType<typeof createHub>

async function* until(bytes: AsyncIterable<Uint8Array>, over: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } finally {
    over()
  }
}

const credentialOf = ({ principal }: Actor<'session' | 'api_key'>): string =>
  principal.kind === 'session' ? `admin_session:${principal.id}` : `api_key:${principal.id}`
const personOf = ({ principal }: Actor<'session' | 'api_key'>): string | null =>
  principal.kind === 'session' ? principal.userId : principal.ownerId
/** Returns the subjects of changes that may end or alter the rights of the caller. */
const subjectsOf = (actor: Actor<'session' | 'api_key'>): string[] => {
  const { principal } = actor
  const user = personOf(actor)
  const tenants = new Set([principal.tenantId, actor.tenantId])
  return [credentialOf(actor), ...(user ? [`user:${user}`] : []), ...[...tenants].map((t) => `tenant:${t}`)]
}
