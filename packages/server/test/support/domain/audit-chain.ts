import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { canonicalJson } from '@holdfast/crypto'
import type { Kit } from '../deployment/deployment.ts'

export type Event = Awaited<ReturnType<Kit['admin']['listAuditEvents']>>['items'][number]

/** Reads the whole audit log, in order of sequence numbers. */
export async function readAuditLog({ admin }: Pick<Kit, 'admin'>): Promise<Event[]> {
  const events: Event[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await admin.listAuditEvents({ query: { limit: 200, ...(cursor && { cursor }) } })
    events.push(...page.items)
    if (page.next_cursor === null) return events.sort((a, b) => a.seq - b.seq)
    cursor = page.next_cursor
  }
}

/** The hash of an event as `docs/audit-verify.md` defines it, computed independently of the server. */
function hashOf(before: string, { seq, hash: _, ...event }: Event): string {
  const place = Buffer.alloc(8)
  place.writeBigUInt64BE(BigInt(seq))
  return createHash('sha256')
    .update(Buffer.concat([Buffer.of(0), Buffer.from(before, 'hex'), place, Buffer.from(canonicalJson(event))]))
    .digest('hex')
}
/** Asserts that sequence numbers have no gap or repetition, and that each hash fits. */
export function assertChain(events: readonly Event[]): void {
  let before = '00'.repeat(32)
  for (const [i, event] of events.entries()) {
    assert.equal(event.seq, i + 1, 'no place is left out, none is there twice')
    assert.equal(event.hash, hashOf(before, event), `place ${event.seq}: ${event.kind}`)
    before = event.hash
  }
}
