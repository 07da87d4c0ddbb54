import type { TenantId } from '../../kernel/actor.ts'
import { ChangeBatch } from './batch.ts'
import type { StreamDeps } from './deps.ts'
import { auditKindsOfLists } from './kinds.ts'
import type { OpenStream } from './open-stream.ts'

/** At most four batches a second. A batch waits for the audit event of its change. */
const gatherMs = 100
const betweenMs = 250
/** Time until other replicas know that this one watches the tenant. */
const settleMs = 1500
/** Most events of one batch whose ids are read. */
const mostEvents = 200

type WatchDeps = Pick<StreamDeps, 'audit' | 'feed' | 'onError'>

/**
 * The streams of one tenant on this replica, and the changes collected for them. A timer runs only while changes are
 * pending.
 */
export class Watch {
  readonly tenant: TenantId
  readonly streams = new Set<OpenStream>()
  /** Sequence number of the audit log up to which the streams were notified. */
  auditSeq: number
  readonly #deps: WatchDeps
  readonly #unwatch: () => void
  #batch = new ChangeBatch()
  #looksAtAudit = false
  #timer: NodeJS.Timeout | undefined
  #settling: NodeJS.Timeout
  #flushedAt = 0
  #isOver = false

  constructor(tenant: TenantId, auditSeq: number, deps: WatchDeps, unwatch: () => void) {
    this.tenant = tenant
    this.auditSeq = auditSeq
    this.#deps = deps
    this.#unwatch = unwatch
    this.#settling = setTimeout(() => this.lookAtAudit(), settleMs).unref()
  }

  /** Current position of the tenant: the number of the change log, and that of the audit log. */
  get id(): string {
    return `${this.#deps.feed.seqOf(this.tenant)}-${this.auditSeq}`
  }
  note(onBatch: (batch: ChangeBatch) => void): void {
    onBatch(this.#batch)
    this.#schedule()
  }
  lookAtAudit(): void {
    this.#looksAtAudit = true
    this.#schedule()
  }
  end(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
    clearTimeout(this.#settling)
    this.#unwatch()
  }

  #schedule(): void {
    if (this.#timer || this.#isOver) return
    const wait = Math.max(gatherMs, this.#flushedAt + betweenMs - performance.now())
    this.#timer = setTimeout(() => void this.#flush().catch(this.#deps.onError), wait).unref()
  }
  async #flush(): Promise<void> {
    try {
      if (this.#looksAtAudit) await this.#readAudit()
    } finally {
      this.#timer = undefined
      this.#flushedAt = performance.now()
      const batch = this.#batch
      this.#batch = new ChangeBatch()
      const { id } = this
      if (!batch.isEmpty) for (const stream of this.streams) stream.push(batch, id)
      if (this.#looksAtAudit) this.#schedule()
    }
  }
  async #readAudit(): Promise<void> {
    this.#looksAtAudit = false
    try {
      const { head, events, more } = await this.#deps.audit.since(
        this.tenant,
        this.auditSeq,
        auditKindsOfLists,
        mostEvents,
      )
      for (const { kind, record } of events) this.#batch.audit(kind, record)
      for (const kind of more) this.#batch.auditMany(kind)
      if (head > this.auditSeq) this.#batch.auditSeq = head
      this.auditSeq = Math.max(head, this.auditSeq)
    } catch (e) {
      // The next read of the audit log repeats this.
      this.#looksAtAudit = true
      throw e
    }
  }
}
