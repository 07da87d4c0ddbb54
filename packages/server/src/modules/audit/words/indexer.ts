import { background, type Database } from '../../../db/database.ts'
import { isAway } from '../../../db/unavailable.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { eachTenant } from '../../../kernel/each-tenant.ts'
import { createSlices } from '../../../kernel/time-slice.ts'
import { blockPlaces, holesOf, noteWords, type Read, readPart, unread } from './words.queries.ts'
import { wordsOnce } from './words.ts'

/** Blocks of one tenant before other tenants get a turn. */
const inATurn = 16
/**
 * Number of sequenced events after which new blocks are looked for. Less than a block, since a replica counts only its
 * own.
 */
const lookPlaces = blockPlaces / 4

/**
 * Indexes the words of each block once, after the sequencer; no request waits for it. Blocks that a process leaves
 * undone are indexed by the next one.
 */
export function createWordIndexer({ db, onError }: { db: Database; onError: (e: unknown) => void }) {
  /** Events sequenced since a tenant's blocks were last checked. Unknown at first, hence due at once. */
  const given = new Map<TenantId, number>()
  const due = new Set<TenantId>()
  let isStopped = false
  let isReading = false
  let read: Promise<void> = Promise.resolve()

  async function readBlock(tenant: TenantId, block: number): Promise<Read> {
    const words = new Set<string>()
    const times: string[] = []
    const upTo = (block + 1) * blockPlaces
    for (let after = block * blockPlaces; after < upTo; ) {
      const part = await db.inTenant(tenant, (tx) => readPart(tx, tenant, after, upTo), background)
      if (!part) break
      await addWords(words, part.records)
      times.push(part.firstAt, part.lastAt)
      after = part.isLast ? upTo : part.last
    }
    return { block, times, words: [...words] }
  }
  const fillHoles = createHoles({ db, readBlock })
  async function readBlocks(tenant: TenantId): Promise<void> {
    await fillHoles(tenant)
    for (let i = 0; i < inATurn; i++) {
      if (isStopped) return
      const { block, head } = await db.inTenant(tenant, (tx) => unread(tx, tenant), background)
      if (head < (block + 1) * blockPlaces) return
      const read = await readBlock(tenant, block)
      await db.inTenant(tenant, (tx) => noteWords(tx, tenant, read), background)
    }
    due.add(tenant)
  }
  async function readDue(): Promise<void> {
    while (due.size > 0 && !isStopped) {
      const tenants = [...due]
      due.clear()
      // The rest is found when more events are sequenced.
      await eachTenant(tenants, readBlocks).catch((e: unknown) => {
        if (!isAway(e)) onError(e)
      })
    }
    isReading = false
  }

  return {
    /** `count` events of the tenant were sequenced. */
    placed: (tenant: TenantId, count: number): void => {
      const places = (given.get(tenant) ?? lookPlaces) + count
      given.set(tenant, places % lookPlaces)
      if (places < lookPlaces || isStopped) return
      due.add(tenant)
      if (isReading) return
      isReading = true
      read = readDue()
    },
    stop: async (): Promise<void> => {
      isStopped = true
      await read
    },
  }
}

async function addWords(words: Set<string>, records: string): Promise<void> {
  const add = wordsOnce(words)
  const slices = createSlices()
  for (const record of records.split('\n')) {
    add(record)
    if (slices.isOver()) await slices.next()
  }
}

/** Blocks per query. */
const holesAtOnce = 1_000

type ReadBlock = (tenant: TenantId, block: number) => Promise<Read>

/**
 * Indexes missing blocks again. Blocks are indexed in order, so one is missing only if it was deleted. Each process
 * checks a tenant once.
 */
function createHoles({ db, readBlock }: { db: Database; readBlock: ReadBlock }) {
  const looked = new Set<TenantId>()
  return async (tenant: TenantId): Promise<void> => {
    if (looked.has(tenant)) return
    const missing = await db.inTenant(tenant, (tx) => holesOf(tx, tenant, holesAtOnce), background)
    for (const block of missing) {
      const read = await readBlock(tenant, block)
      await db.inTenant(tenant, (tx) => noteWords(tx, tenant, read), background)
    }
    if (missing.length < holesAtOnce) looked.add(tenant)
  }
}
