import type { TenantId } from '../../kernel/actor.ts'
import { type ChangeKind, changesBetween } from '../../replication/changes.ts'
import { ChangeBatch } from './batch.ts'
import type { StreamDeps } from './deps.ts'
import { auditKindsOfLists } from './kinds.ts'

/** A client that missed more than this refetches everything. */
const mostChanges = 5000
const mostAudit = 10_000
const mostEvents = 200

const read = (id: string): [seq: number, auditSeq: number] | undefined => {
  const found = /^(\d{1,15})-(\d{1,15})$/.exec(id)
  return found ? [Number(found[1]), Number(found[2])] : undefined
}

/**
 * Returns the changes from the event that a client names up to the tenant's current position. The change log keeps them
 * for a day. If it lacks one, or never issued that number, everything may have changed.
 */
export async function missedSince(
  { db, audit }: Pick<StreamDeps, 'db' | 'audit'>,
  tenant: TenantId,
  lastEventId: string | undefined,
  standsAt: string,
): Promise<ChangeBatch> {
  const missed = new ChangeBatch()
  if (lastEventId === undefined) return missed
  const known = read(lastEventId)
  const [seq, auditSeq] = read(standsAt) ?? [0, 0]
  const isReadable = known && known[0] <= seq && known[1] <= auditSeq
  if (!isReadable || seq - known[0] > mostChanges || auditSeq - known[1] > mostAudit) {
    missed.reset()
    return missed
  }
  const rows =
    known[0] === seq ? [] : await db.inTenant(tenant, (tx) => changesBetween(tx, tenant, known[0], seq, mostChanges))
  // Each number has a change. A missing one was pruned, or was never issued before a restore.
  if (new Set(rows.map((r) => r.seq)).size !== seq - known[0]) {
    missed.reset()
    return missed
  }
  for (const { kind, subject } of rows) missed.change({ kind: kind as ChangeKind, subject })
  if (known[1] < auditSeq) {
    const { events, more } = await audit.since(tenant, known[1], auditKindsOfLists, mostEvents)
    for (const { kind, record } of events) missed.audit(kind, record)
    for (const kind of more) missed.auditMany(kind)
    missed.auditSeq = auditSeq
  }
  missed.signalsLost()
  return missed
}
