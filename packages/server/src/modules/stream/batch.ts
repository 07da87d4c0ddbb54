import { type ChangedKind, changedKinds, mostChangedIds } from '@holdfast/contract/stream'
import { type AuditKind, idPrefixes } from '@holdfast/contract/vocabulary'
import { encodeId } from '../../kernel/ids.ts'
import { type Change, everything } from '../../replication/changes.ts'
import type { Subjects } from '../../replication/signals.ts'
import { listsOfAudit, listsOfChange, onlyNamed } from './kinds.ts'

/** Events other than changes of lists. */
export type Topic = 'raised' | 'ended' | 'run' | 'gateway' | 'adoption'
type Bag = Map<ChangedKind | `event ${Topic}`, Set<string> | 'many'>

/**
 * The changes since the last batch, bounded: of each list a few ids, or that there are many. Batches for a slow reader
 * are merged.
 */
export class ChangeBatch {
  readonly #bag: Bag = new Map()
  /** The changes are unknown: everything may have changed. */
  isReset = false
  auditSeq: number | undefined

  #add(name: ChangedKind | `event ${Topic}`, ids: Iterable<string> | 'many'): void {
    const known = this.#bag.get(name)
    if (known === 'many') return
    if (ids === 'many') return void this.#bag.set(name, 'many')
    const all = known ?? new Set()
    for (const id of ids) all.add(id)
    this.#bag.set(name, all.size > mostChangedIds ? 'many' : all)
  }
  list(kind: ChangedKind, ids: readonly string[] | 'many'): void {
    this.#add(kind, ids)
  }
  topic(topic: Topic, ids: readonly string[] | 'many'): void {
    this.#add(`event ${topic}`, ids)
  }
  reset(): void {
    this.isReset = true
    this.#bag.clear()
  }
  /** Returns the ids of a list or topic in this batch, or undefined if there are none. */
  of(kind: ChangedKind): ReadonlySet<string> | 'many' | undefined {
    return this.#bag.get(kind)
  }
  ofTopic(topic: Topic): ReadonlySet<string> | 'many' | undefined {
    return this.#bag.get(`event ${topic}`)
  }
  get isEmpty(): boolean {
    return this.#bag.size === 0 && !this.isReset && this.auditSeq === undefined
  }
  merge(other: ChangeBatch): void {
    if (other.isReset) this.reset()
    for (const [name, ids] of other.#bag) this.#add(name, ids)
    this.auditSeq = other.auditSeq ?? this.auditSeq
  }

  /** Adds a change of the change log. */
  change({ kind, subject }: Pick<Change, 'kind' | 'subject'>): void {
    for (const list of listsOfChange[kind]) {
      const noun = nounOf(list)
      // The subject of a CRL change is the signer.
      const isOther = noun === undefined || subject === everything || kind === 'crl'
      this.list(list, isOther ? 'many' : [encodeId(noun, subject)])
    }
    if (kind === 'workflow_run') this.topic('run', [encodeId('workflow_run', subject)])
    if (kind === 'gateway') this.topic('gateway', subject === everything ? 'many' : [encodeId('gateway', subject)])
    if (kind === 'policy' || kind === 'device') this.topic('adoption', [])
  }

  /** Adds an audit event. Parses its record only if the kind concerns a list. */
  audit(kind: AuditKind, record: string): void {
    const lists = listsOfAudit[kind]
    if (lists.length === 0) return
    const ids = idsIn(JSON.parse(record) as Record<string, unknown>)
    for (const list of lists) {
      const noun = nounOf(list)
      const own = noun === undefined ? [] : ids.filter((id) => id.startsWith(`${idPrefixes[noun]}_`))
      if (own.length > 0) this.list(list, own)
      else if (!onlyNamed.has(list)) this.list(list, 'many')
    }
    if (kind === 'notification.acknowledged')
      this.topic(
        'ended',
        ids.filter((id) => id.startsWith('ntf_')),
      )
    if (lists.includes('runs'))
      this.topic(
        'run',
        ids.filter((id) => id.startsWith('wfr_')),
      )
  }
  /** Adds events of a kind that were too many to read one by one. */
  auditMany(kind: AuditKind): void {
    for (const list of listsOfAudit[kind]) this.list(list, 'many')
    if (kind === 'notification.acknowledged') this.topic('ended', 'many')
    if (listsOfAudit[kind].includes('runs')) this.topic('run', 'many')
  }

  signal(topic: 'notification' | 'vpn_session' | 'workflow_run' | 'gateway' | 'adoption', subjects: Subjects): void {
    const ids = (noun: 'notification' | 'vpn_session' | 'workflow_run' | 'gateway') =>
      subjects === 'many' ? subjects : subjects.map((uuid) => encodeId(noun, uuid))
    if (topic === 'notification') {
      this.list('notifications', ids(topic))
      this.topic('raised', ids(topic))
    } else if (topic === 'vpn_session') this.list('sessions', ids(topic))
    else if (topic === 'workflow_run') {
      this.list('runs', ids(topic))
      this.topic('run', ids(topic))
    } else if (topic === 'gateway') {
      this.list('gateways', ids(topic))
      this.topic('gateway', ids(topic))
    } else this.topic('adoption', [])
  }
  /** Signals may have been lost: marks every list and event that depends on signals only. */
  signalsLost(): void {
    for (const topic of ['notification', 'vpn_session', 'workflow_run', 'gateway', 'adoption'] as const)
      this.signal(topic, 'many')
  }
}

const nounOf = (kind: ChangedKind) => {
  const known: (typeof changedKinds)[ChangedKind] = changedKinds[kind]
  return 'noun' in known ? known.noun : undefined
}

/** Returns the ids in an event: its target, and the fields of its kind. The actor is left out. */
function idsIn({ target, actor: _, tenant_id: __, ...fields }: Record<string, unknown>): string[] {
  const named = typeof target === 'object' && target !== null && 'id' in target ? target.id : undefined
  const values = [named, ...Object.values(fields)].flat()
  return values.filter((v): v is string => typeof v === 'string' && /^[a-z]{3}_[0-9a-z]{26}$/.test(v))
}
