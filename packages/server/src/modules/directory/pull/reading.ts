import { background, type Database, type Tx } from '../../../db/database.ts'
import type { KeptReading, PullProgress } from '../../../db/tables/directory.ts'
import { LeaseLost } from '../../../jobs/leased-worker.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { hour, minute, second } from '../../../kernel/time.ts'
import type { Outbound } from '../../../outbound/outbound.ts'
import type { SnapshotContent } from '../apply-run.ts'
import { createAsking } from './asking.ts'
import { createFold, type DirectoryPage } from './pages.ts'
import { PullError } from './pull-error.ts'
import * as queries from './pulls.queries.ts'
import { type SourceRow, setState } from './sources.queries.ts'
import type { DirectoryAccess, PulledSoFar } from './vendor.ts'
import { vendors } from './vendors.ts'

/** Number of entries, or age, at which pages are stored. */
const keptEntries = 2000
const keptAfterMs = second
/** Maximum size of all pages of a reading, and of all pages of a tenant. */
const mostBytes = 64 * 1024 * 1024
const mostBytesOfTenant = 4 * mostBytes
/** Maximum duration of a reading. After it the reading fails. */
const longestMs = 6 * hour

/** Thrown after the pages are stored, so that other sources are read before this one continues. */
export class TurnOver extends Error {}

/** Cursor of a pull: the vendor's position, or the mark that the reading is complete. */
type Cursor = { at: object } | { whole: true; links: KeptReading['links'] | null }
/** A pull that this replica reads, with its lease. */
export type Holding = {
  tenant: TenantId
  source: SourceRow
  pull: queries.LeasedPull
  /** Start of the reading, and end of this replica's turn. */
  startedAt: Date
  turnEnds: Date
  progress: PullProgress
  signal: AbortSignal
}
export const beginning = ({ kind, issuer, kept }: Pick<SourceRow, 'kind' | 'issuer' | 'kept'>): Cursor => ({
  at: vendors[kind].begin({ issuer }, kept?.links),
})
export const noProgress = (): PullProgress => ({
  phase: 'users',
  users: { read: 0, of: null },
  groups: { read: 0, of: null },
  memberships: 0,
  requests: 0,
  retries: 0,
})

/** Reads a directory page by page. The pages are stored, so that any replica can continue. */
export function createReading({
  db,
  now,
  outbound,
}: {
  db: Database
  now: () => Date
  outbound: Pick<Outbound, 'request'>
}) {
  /** Renews the lease for longer than usual. */
  const renew = (tx: Tx, { pull }: Holding, more: number) =>
    queries.renewPull(tx, pull, now(), queries.pullLeaseMs + more)

  /** `work` returns false if this replica has lost the pull. */
  async function guarded(h: Holding, work: (tx: Tx) => Promise<boolean>): Promise<void> {
    await db.inTenant(h.tenant, async (tx) => {
      if (!(await work(tx))) throw new LeaseLost()
    })
  }

  /** Entries already read, possibly by another replica. */
  async function seenSince(h: Holding, from: number): Promise<PulledSoFar> {
    const seen: PulledSoFar = { users: new Set(), groups: [], groupIds: new Set() }
    await eachPage(h, from, (page) => note(seen, page))
    return seen
  }
  async function eachPage(
    { tenant, source }: Holding,
    from: number,
    work: (page: DirectoryPage) => unknown,
  ): Promise<void> {
    for (let next = from; ; ) {
      const rows = await db.inTenant(tenant, (tx) => queries.somePages(tx, tenant, source.source_id, next), background)
      if (rows.length === 0) return
      for (const { content } of rows) for (const page of JSON.parse(content) as DirectoryPage[]) await work(page)
      next = (rows.at(-1)?.page ?? next) + 1
    }
  }

  /** Reads to the end. Returns the state from which the next reading of changes continues. */
  async function read(h: Holding, place: DirectoryAccess): Promise<KeptReading | null> {
    const { tenant, source, progress, signal, pull } = h
    const { source_id, run_id } = pull
    const vendor = vendors[source.kind]
    let kept = source.kept
    let { pages } = pull
    let cursor = pull.cursor as Cursor
    let seen = await seenSince(h, kept?.pages ?? 0)
    let bytes = await db.inTenant(tenant, (tx) => queries.bytesOfPages(tx, tenant, source_id))
    let buffer: DirectoryPage[] = []
    let bufferedAt = performance.now()
    const ask = createAsking({
      outbound,
      origin: vendor.originOf(source.issuer),
      token: () => vendor.tokenOf(place),
      signal,
      onRequest: () => void progress.requests++,
      onWait: async (ms) => {
        progress.retries++
        await guarded(h, (tx) => renew(tx, h, ms))
      },
    })

    async function save(): Promise<void> {
      const filledPages = buffer.filter((page) => Object.values(page).some((list) => list.length > 0))
      const content = filledPages.length > 0 ? JSON.stringify(filledPages) : undefined
      const more = content ? Buffer.byteLength(content) : 0
      bytes = { own: bytes.own + more, all: bytes.all + more }
      if (bytes.own > mostBytes)
        throw new PullError('too_large', 'The directory is larger than the memory limit of a pull.')
      if (bytes.all > mostBytesOfTenant)
        throw new PullError('too_large', 'All running pulls together exceed the memory limit.')
      const number = pages
      await guarded(h, async (tx) => {
        const next = content === undefined ? number : number + 1
        if (!(await queries.savePull(tx, pull, { cursor, pages: next, at: now() }))) return false
        await queries.saveProgress(tx, tenant, run_id, progress)
        if (content !== undefined) await queries.insertPage(tx, tenant, source_id, number, content)
        return true
      })
      if (content !== undefined) pages++
      buffer = []
      bufferedAt = performance.now()
    }
    /** Starts over from the first page. Deletes the pages of earlier readings too if they cannot be continued. */
    async function beginAnew(next: object, withoutKept: boolean): Promise<void> {
      if (withoutKept) kept = null
      pages = kept?.pages ?? 0
      cursor = { at: next }
      Object.assign(progress, { ...noProgress(), requests: progress.requests, retries: progress.retries + 1 })
      await guarded(h, async (tx) => {
        if (withoutKept) await setState(tx, tenant, source_id, { kept: null })
        if (!(await queries.savePull(tx, pull, { cursor, pages, at: now() }))) return false
        await queries.saveProgress(tx, tenant, run_id, progress)
        await queries.deletePages(tx, tenant, source_id, pages)
        return true
      })
      seen = { users: new Set(), groups: [], groupIds: new Set() }
      buffer = []
      bytes = await db.inTenant(tenant, (tx) => queries.bytesOfPages(tx, tenant, source_id))
    }

    let wasGone = false
    while ('at' in cursor) {
      if (now().getTime() - h.startedAt.getTime() > longestMs)
        throw new PullError('unstable', 'The pull did not finish within six hours.')
      const take = { ...source }
      const step = await vendor
        .step(ask, place, { cursor: cursor.at, take, seen, progress })
        .catch((e: unknown) => (e instanceof PullError && e.code === 'gone' && !wasGone ? e : Promise.reject(e)))
      if (step instanceof PullError) {
        wasGone = true
        await beginAnew(vendor.begin(place, undefined), true)
      } else if (step.again !== undefined) await beginAnew(step.cursor ?? {}, false)
      else {
        note(seen, step.page)
        count(progress, step.page)
        buffer.push(step.page)
        cursor = step.cursor === null ? { whole: true, links: step.links ?? null } : { at: step.cursor }
        const entries = buffer.reduce((n, page) => n + sizeOf(page), 0)
        const isTurnOver = now() > h.turnEnds
        if ('whole' in cursor || isTurnOver || entries >= keptEntries || performance.now() - bufferedAt > keptAfterMs)
          await save()
        if ('at' in cursor && isTurnOver) throw new TurnOver('others are read first')
      }
    }
    return cursor.links && { links: cursor.links, readAt: h.startedAt.toISOString(), pages }
  }

  return {
    read,
    /** Everything that was read, in the form of a snapshot. */
    contentOf: async (h: Holding): Promise<SnapshotContent> => {
      h.progress.phase = 'applying'
      await guarded(h, async (tx) => {
        if (!(await renew(tx, h, 5 * minute))) return false
        await queries.saveProgress(tx, h.tenant, h.pull.run_id, h.progress)
        return true
      })
      const fold = createFold()
      await eachPage(h, 0, fold.add)
      return fold.content(h.source)
    },
  }
}

function note(seen: PulledSoFar, page: DirectoryPage): void {
  for (const { id } of page.users ?? []) seen.users.add(id)
  for (const group of page.groups ?? []) {
    if (!seen.groupIds.has(group.id)) seen.groups.push(group)
    seen.groupIds.add(group.id)
  }
}
function count(progress: PullProgress, page: DirectoryPage): void {
  progress.users.read += page.users?.length ?? 0
  progress.groups.read += page.groups?.length ?? 0
  for (const { add, nest = [] } of page.members ?? []) progress.memberships += add.length + nest.length
}
const sizeOf = (page: DirectoryPage): number =>
  (page.users?.length ?? 0) +
  (page.groups?.length ?? 0) +
  (page.members?.reduce((n, { add }) => n + 1 + add.length / 4, 0) ?? 0)
