import { isAway } from '../../../db/away.ts'
import { background, type Database, type Tx } from '../../../db/database.ts'
import type { TenantId } from '../../../kernel/actor.ts'
import { eachTenant } from '../../../kernel/each-tenant.ts'
import { createSlices } from '../../../kernel/time-slice.ts'
import { wordsOnce } from '../../../kernel/words.ts'
import { createFresh, type Placed } from './fresh.ts'
import { createHoles } from './holes.ts'
import { type Block, blockPlaces, noteWords, readBlock, unread } from './words.queries.ts'

/** Blocks of one tenant before it is the turn of the others. */
const inATurn = 16
/** Places after which blocks are looked for: fewer than a block has, since every replica counts only what it gave. */
const lookPlaces = blockPlaces / 4

/**
 * Reads the words of every block of the record once, behind the sequencer: nobody waits for it. What a process leaves
 * undone, whoever comes next begins with.
 */
export function createWordIndexer({ db, onError }: { db: Database; onError: (e: unknown) => void }) {
  /** Places that were given since a tenant's blocks were last looked at; at first it is not known. */
  const given = new Map<TenantId, number>()
  const due = new Set<TenantId>()
  const fresh = createFresh()
  const fillHoles = createHoles({ db, wordsOf: distinctWords })
  let isStopped = false
  let isReading = false
  let read: Promise<void> = Promise.resolve()

  async function readBlocks(tenant: TenantId): Promise<void> {
    await fillHoles(tenant)
    let done: { block: Block; words: string[] } | undefined
    for (let i = 0; !isStopped; i++) {
      const next = async (tx: Tx) => {
        if (done) await noteWords(tx, tenant, done.block, done.words)
        const { block, head } = await unread(tx, tenant)
        if (i === inATurn || head < (block + 1) * blockPlaces) return undefined
        return fresh.take(tenant, block) ?? readBlock(tx, tenant, block)
      }
      const block = await db.inTenant(tenant, next, background)
      if (!block) {
        if (i === inATurn) due.add(tenant)
        return
      }
      done = { block, words: await distinctWords(block) }
    }
  }
  async function readDue(): Promise<void> {
    while (due.size > 0 && !isStopped) {
      const tenants = [...due]
      due.clear()
      // What is left is found when more places are given.
      await eachTenant(tenants, readBlocks).catch((e: unknown) => {
        if (!isAway(e)) onError(e)
      })
    }
    isReading = false
  }

  return {
    /** So many places of the tenant were given, the last of them to these events, if they are at hand. */
    placed: (tenant: TenantId, count: number, events?: Placed): void => {
      if (events) fresh.add(tenant, events)
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

async function distinctWords({ records }: Block): Promise<string[]> {
  const words = new Set<string>()
  const addWords = wordsOnce(words)
  const slices = createSlices()
  for (const record of records) {
    addWords(record)
    if (slices.isOver()) await slices.next()
  }
  return [...words]
}
