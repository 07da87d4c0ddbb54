import type { TenantId } from '../../../kernel/actor.ts'
import type { Arrival } from '../audit.queries.ts'
import { type Block, blockPlaces } from './words.queries.ts'

type Event = Pick<Arrival, 'at' | 'record'>
/** Events that got their places in a row, the last of them this one. */
export type Placed = { last: number; events: readonly Event[] }
type Run = { first: number; events: Event[] }

/** Characters of records that are kept, of all tenants together. */
const most = 8 * 1024 * 1024

/** What this replica has just placed: a block that is here as a whole need not be read again. */
export function createFresh() {
  const runs = new Map<TenantId, Run>()
  let length = 0

  function takeFirst(run: Run, count: number): Event[] {
    const taken = run.events.splice(0, Math.max(0, count))
    run.first += taken.length
    length -= lengthOf(taken)
    return taken
  }

  return {
    add: (tenant: TenantId, { last, events }: Placed): void => {
      const first = last - events.length + 1
      const run = runs.get(tenant) ?? { first, events: [] }
      runs.set(tenant, run)
      if (run.first + run.events.length !== first) {
        takeFirst(run, run.events.length)
        run.first = first
      }
      run.events.push(...events)
      length += lengthOf(events)
      if (length <= most) return
      runs.clear()
      length = 0
    },
    take: (tenant: TenantId, block: number): Block | undefined => {
      const first = block * blockPlaces + 1
      const run = runs.get(tenant)
      if (!run) return undefined
      takeFirst(run, first - run.first)
      if (run.first !== first || run.events.length < blockPlaces) return undefined
      const events = takeFirst(run, blockPlaces)
      const times = events.map(({ at }) => at.getTime())
      return {
        block,
        firstAt: new Date(Math.min(...times)).toISOString(),
        lastAt: new Date(Math.max(...times)).toISOString(),
        records: events.map(({ record }) => record),
      }
    },
  }
}

const lengthOf = (events: readonly Event[]) => events.reduce((sum, { record }) => sum + record.length, 0)
