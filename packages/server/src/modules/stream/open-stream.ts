import { streamCommentSeconds } from '@holdfast/contract/limits'
import type { streamEnds } from '@holdfast/contract/stream'
import type { Actor, TenantId } from '../../kernel/actor.ts'
import type { Stands } from '../../kernel/results.ts'
import { second } from '../../kernel/time.ts'
import { ChangeBatch } from './batch.ts'
import { encodeText, eventsOf, heartbeatText, retryText, type Scope, streamText } from './write.ts'

type EndReason = (typeof streamEnds)[number]
const heartbeatMs = streamCommentSeconds * second
const retryMs = 2 * second
/** Keeps a client that ignores `replaced` from displacing its successor at once. */
const retryOfReplacedMs = 600 * second

/** One open stream. It buffers at most one batch for a slow client. */
export class OpenStream {
  readonly tenant: TenantId
  readonly actor: Actor<'session' | 'api_key'>
  readonly stands: Stands
  readonly scope: Scope
  /** Time of the next check of the credential (ms, by the clock of the database). */
  checkAt = 0
  /** Nothing is sent while the credential is checked. */
  isChecking = false
  /** Number of checks requested since the running one began. */
  checksDue = 0
  /** The end of the session (ms) that the client was warned of. */
  warnedOf: number | undefined
  #waiting = new ChangeBatch()
  #warning: { at: string; cause: 'idle' | 'absolute' } | undefined
  #end: EndReason | undefined
  #id: string
  #sentAt = performance.now()
  #wake = () => {}

  constructor(given: Pick<OpenStream, 'tenant' | 'actor' | 'stands' | 'scope'>) {
    this.tenant = given.tenant
    this.actor = given.actor
    this.stands = given.stands
    this.scope = given.scope
    this.#id = ''
  }
  /** `id`: the position of the tenant after this batch. */
  push(batch: ChangeBatch, id: string): void {
    this.#waiting.merge(batch)
    this.#nextId = id
    this.#wake()
  }
  #nextId = ''
  warn(at: Date, cause: 'idle' | 'absolute'): void {
    this.warnedOf = at.getTime()
    this.#warning = { at: at.toISOString(), cause }
    this.#wake()
  }
  end(reason: EndReason): void {
    this.#end ??= reason
    this.#wake()
  }
  /** Sends the batch that was held back during the check of the credential. */
  resume(): void {
    this.isChecking = false
    this.#wake()
  }
  get isEnded(): boolean {
    return this.#end !== undefined
  }
  /** Called at every heartbeat of the change feed. */
  beat(): void {
    if (performance.now() - this.#sentAt >= heartbeatMs) this.#wake()
  }

  /**
   * Yields bytes until the stream ends or `gone` is aborted. `begins`: the tenant's current position, and the missed
   * changes.
   */
  async *bytes(clientGone: AbortSignal, begins: { id: string; missed: ChangeBatch }): AsyncGenerator<Uint8Array> {
    this.#id = begins.id
    this.#nextId = begins.id
    const ready = { event: 'ready' as const, id: this.#id, data: { kinds: [...this.scope.kinds] } }
    yield encodeText(retryText(retryMs) + streamText(ready) + this.#textOfBatch(begins.missed, begins.id))
    const wake = () => this.#wake()
    clientGone.addEventListener('abort', wake)
    try {
      for (;;) {
        const text = this.#take()
        if (clientGone.aborted) return
        if (text !== '') {
          this.#sentAt = performance.now()
          yield encodeText(text)
        }
        if (this.#end !== undefined && text !== '') return
        if (this.#hasMore()) continue
        const { promise, resolve } = Promise.withResolvers<void>()
        this.#wake = resolve
        await promise
        this.#wake = () => {}
      }
    } finally {
      clientGone.removeEventListener('abort', wake)
    }
  }

  #hasMore(): boolean {
    return this.#end !== undefined || (!this.isChecking && (!this.#waiting.isEmpty || this.#warning !== undefined))
  }
  #take(): string {
    if (this.#end !== undefined) {
      const retry = this.#end === 'replaced' ? retryText(retryOfReplacedMs) : ''
      // Spreads the reconnects when a replica stops.
      const later = this.#end === 'stopping' ? retryText(Math.round(retryMs * (0.5 + Math.random()))) : ''
      return retry + later + streamText({ event: 'end', id: this.#id, data: { reason: this.#end } })
    }
    if (this.isChecking) return ''
    let text = ''
    if (this.#warning) text += streamText({ event: 'expires', id: this.#id, data: this.#warning })
    this.#warning = undefined
    const batch = this.#waiting
    this.#waiting = new ChangeBatch()
    if (!batch.isEmpty) text += this.#textOfBatch(batch, this.#nextId)
    if (text === '' && performance.now() - this.#sentAt >= heartbeatMs) {
      this.#id = this.#nextId
      text = heartbeatText(this.#id)
    }
    return text
  }
  /** Only the last event has the new id: a client that loses the connection earlier gets the batch again. */
  #textOfBatch(batch: ChangeBatch, id: string): string {
    const events = eventsOf(batch, this.scope)
    const before = this.#id
    if (events.length > 0) this.#id = id
    return events.map((e, i) => streamText({ ...e, id: i === events.length - 1 ? id : before })).join('')
  }
}
