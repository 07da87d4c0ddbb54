import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { type Signer, signJws } from '@holdfast/crypto'
import { type Database, type Tx, UnknownOutcome } from '../../../db/database.ts'
import type { Actor, TenantId } from '../../../kernel/actor.ts'
import { fail, tooMany } from '../../../kernel/app-error.ts'
import { encodeId } from '../../../kernel/ids.ts'
import type { Stands } from '../../../kernel/results.ts'
import type { EventFilter } from '../events/conditions.queries.ts'
import { checkpointsAfter } from '../proof/proof.queries.ts'
import { BrokenRecord } from '../proof/tiles.ts'
import type { createRecorder } from '../recorder.ts'
import { BrokenOff, BrokenPlace, type Cause } from './broken-off.ts'
import { exportedAs, hashAt, headPlaceOf } from './export.queries.ts'
import type { Layout, Signed } from './layouts.ts'
import { pagesUpTo } from './pages.ts'

const manifestType = 'audit-export+jws'
/** Number of events written before other work of the process gets a turn. */
const together = 50

export type ExportsDeps = {
  db: Database
  now: () => Date
  catchUp: (tenant: TenantId) => Promise<void>
  audit: Pick<ReturnType<typeof createRecorder>, 'note'>
  /** Signing keys of checkpoints. Provided by the trust module. */
  keys: { signer: (tenant: TenantId) => Promise<Signer> }
  onError: (e: unknown) => void
}
type Asked = { format: Signed['manifest']['format']; filter: Record<string, unknown> }
type Taker = { ended: AbortSignal; stands: Stands }

export function createAuditExports({ db, now, catchUp, audit, keys, onError }: ExportsDeps) {
  const places = createPlaces()
  const running = createRunning()
  const sign = async (tenant: TenantId, manifest: Signed['manifest']): Promise<Signed> => ({
    manifest,
    jws: await signJws(await keys.signer(tenant), manifestType, manifest),
  })

  const noteFailed = (
    actor: Actor,
    { format, filter }: Asked,
    { events, last, cause }: { events: number; last: { seq: number } | null; cause: Cause | undefined },
  ) => {
    const why = cause ?? (running.isStopping() ? 'stopping' : 'not_taken')
    const more = { outcome: 'failed' as const, details: { filter, last_seq: last?.seq ?? null, cause: why } }
    return audit.note(actor, 'audit.exported', { format, events }, more).catch(onError)
  }

  async function* bytesOf(
    actor: Actor,
    exportQuery: Asked,
    filter: EventFilter,
    layout: Layout,
    { stands, ...at }: Pick<Signed['manifest'], 'head' | 'checkpoint'> & Pick<Taker, 'stands'>,
  ) {
    const over = running.begin()
    const tenant = actor.tenantId
    const started_at = now().toISOString()
    const digest = createHash('sha256')
    let bytes = 0
    let events = 0
    let first: number | null = null
    let last: { seq: number; hash: string } | null = null
    let isOver = false
    let cause: Cause | undefined
    const counted = (text: string): Buffer => {
      const piece = Buffer.from(text)
      digest.update(piece)
      bytes += piece.length
      return piece
    }
    try {
      if (layout.head !== '') yield counted(layout.head)
      for await (const page of pagesUpTo(db, tenant, filter, at.head.seq)) {
        if (!(await stands())) throw new BrokenOff('revoked', 'the requester no longer has the permission')
        for (let i = 0; i < page.length; i += together) {
          const some = page.slice(i, i + together)
          const text = some.map((stored, j) => layout.event(stored, events + j === 0)).join('')
          events += some.length
          first ??= some[0]!.seq
          last = some.at(-1)!
          yield counted(text)
          await turn()
        }
      }
      if (layout.end !== '') yield counted(layout.end)
      const before = first === null ? null : await db.inTenant(tenant, (tx) => hashAt(tx, tenant, first! - 1))
      const signed = await sign(tenant, {
        schema: 'holdfast.audit-export/1',
        tenant_id: encodeId('tenant', tenant),
        ...exportQuery,
        started_at,
        events,
        first_seq: first,
        last_seq: last?.seq ?? null,
        hash_before_first: before,
        hash_of_last: last?.hash ?? null,
        bytes,
        sha256: digest.digest('hex'),
        ...at,
      })
      const { manifest } = signed
      // Recorded before the end is sent, so that a client with the complete file can fetch its manifest.
      await audit
        .note(
          actor,
          'audit.exported',
          { format: exportQuery.format, events },
          { target: { type: 'audit_export', id: manifest.sha256, name: null }, details: { manifest } },
        )
        .catch((e: unknown) => {
          // The success may be in the audit log already.
          isOver = e instanceof UnknownOutcome
          throw e
        })
      isOver = true
      if (layout.manifest) yield Buffer.from(layout.manifest(signed))
    } catch (e) {
      cause = e instanceof BrokenOff ? e.why : 'error'
      if (cause === 'error') onError(e)
      if (!(e instanceof BrokenPlace)) throw e
      onError(new BrokenRecord(tenant, `was changed at sequence number ${e.seq}: ${e.message}`))
      // An aborted response may lose its last bytes. Formats with a trailer report the error there, in place of the
      // manifest.
      if (!layout.broken) throw e
      yield Buffer.from(layout.broken(e))
    } finally {
      if (!isOver) await noteFailed(actor, exportQuery, { events, last, cause })
      over()
    }
  }

  async function begin(
    actor: Actor,
    exportQuery: Asked,
    filter: EventFilter,
    layout: Layout,
    { ended, stands }: Taker,
  ) {
    places.take(actor.tenantId, ended)
    // Refuses early if the manifest could not be signed at the end.
    await keys.signer(actor.tenantId)
    await catchUp(actor.tenantId)
    const at = await db.inTenant(actor.tenantId, (tx) => headAndCheckpoint(tx, actor.tenantId))
    await audit.note(
      actor,
      'audit.export_started',
      { format: exportQuery.format },
      { details: { filter: exportQuery.filter } },
    )
    if (!ended.aborted) return bytesOf(actor, exportQuery, filter, layout, { stands, ...at })
    await noteFailed(actor, exportQuery, { events: 0, last: null, cause: undefined })
    return Readable.from([])
  }

  return {
    /** Recorded before the first byte and again at the end. Throws 429 if too many exports are running. */
    begin: async (...given: Parameters<typeof begin>) => {
      const over = running.begin()
      try {
        return await begin(...given)
      } finally {
        over()
      }
    },
    /** Throws 404 if no export finished with this digest (and this filter and format, if given). */
    manifest: async (actor: Actor, sha256: string, exportQuery: Asked | undefined): Promise<Signed> => {
      await catchUp(actor.tenantId)
      const record = await db.inTenant(actor.tenantId, (tx) => exportedAs(tx, actor.tenantId, sha256, exportQuery))
      if (record === undefined) return fail('not_found', 'no such export')
      const { details } = JSON.parse(record) as { details: { manifest: Signed['manifest'] } }
      return sign(actor.tenantId, details.manifest)
    },
    letGo: running.letGo,
    /** Resolves when all running exports have ended and their end is in the audit log. */
    ended: running.ended,
  }
}

/** Head of the audit log, and its newest checkpoint. */
async function headAndCheckpoint(tx: Tx, tenant: TenantId): Promise<Pick<Signed['manifest'], 'head' | 'checkpoint'>> {
  const head = await headPlaceOf(tx, tenant)
  const [newest] = await checkpointsAfter(tx, tenant, { after: head.seq + 1, descending: true, most: 1 })
  return { head, ...(newest && { checkpoint: newest.note }) }
}
export type AuditExports = ReturnType<typeof createAuditExports>

const mostOfTenant = 2
const mostOfAll = 32

/** Limits concurrent exports. Each holds memory for as long as its client likes. */
function createPlaces() {
  const taken = new Map<TenantId, number>()
  let all = 0
  return {
    /** Takes one slot, until `ended` aborts. Throws 429 if none is free. */
    take: (tenant: TenantId, ended: AbortSignal): void => {
      const own = taken.get(tenant) ?? 0
      if (own >= mostOfTenant || all >= mostOfAll) throw tooMany('running exports', 10)
      if (ended.aborted) return
      taken.set(tenant, own + 1)
      all++
      ended.addEventListener('abort', () => {
        all--
        const left = (taken.get(tenant) ?? 1) - 1
        if (left > 0) taken.set(tenant, left)
        else taken.delete(tenant)
      })
    },
  }
}

/** Tracks running exports, so that the shutdown can wait for their last writes. */
function createRunning() {
  const ends = new Set<Promise<void>>()
  let isStopping = false
  return {
    /** Registers an export. The caller calls the returned function at its end. */
    begin: (): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.add(promise)
      return () => {
        ends.delete(promise)
        resolve()
      }
    },
    letGo: (): void => {
      isStopping = true
    },
    /** True once the shutdown has begun. Running exports are cut then. */
    isStopping: (): boolean => isStopping,
    ended: async (): Promise<void> => {
      while (ends.size > 0) await Promise.all(ends)
    },
  }
}
