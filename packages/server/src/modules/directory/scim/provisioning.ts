import { background, type Tx } from '../../../db/database.ts'
import { unlessTaken } from '../../../db/unique-violation.ts'
import type { Actor } from '../../../kernel/actor.ts'
import { createConcurrencyLimiter } from '../../../kernel/concurrency.ts'
import { encodeId, missing, newUuid } from '../../../kernel/ids.ts'
import type { Change } from '../../../replication/changes.ts'
import { noCounts, type Pushed, withPushed } from '../counts.ts'
import type { RunDeps } from '../deps.ts'
import * as runs from '../runs.queries.ts'
import { requireSource } from '../source.ts'
import type { Push, PushDirectory } from './push.ts'
import * as queries from './windows.queries.ts'
import { type Held, isHeld, refuseHeldRun, windowMs } from './windows.ts'

/**
 * One push per directory at a time: others would wait for the lock of its row, each with a database connection. No
 * directory can take all waiting places.
 */
const turns = { perKey: 1, total: 4, waiting: 200, waitingPerKey: 100 }
const nowhere = '00000000-0000-0000-0000-000000000000'

/** The directory of an API key. The first push creates it; every push holds its lock. */
export function createScimProvisioning({ db, changes, now, owned }: Pick<RunDeps, 'db' | 'changes' | 'now' | 'owned'>) {
  const inTurn = createConcurrencyLimiter(turns)
  const nameOf = ({ principal }: Actor): string =>
    (principal.kind === 'api_key' ? principal.directory : null) ?? missing('directory_run')

  async function hold(tx: Tx, actor: Actor): Promise<runs.DirectoryOfRun> {
    const tenant = actor.tenantId
    const provider = nameOf(actor)
    const known = await runs.findDirectory(tx, tenant, provider)
    if (!known)
      await runs.insertDirectory(tx, {
        tenant_id: tenant,
        directory_id: newUuid(),
        provider,
        created_at: now(),
        source: 'scim',
      })
    const found = known ?? (await runs.findDirectory(tx, tenant, provider)) ?? missing('directory_run')
    const directory = (await runs.lockDirectory(tx, tenant, found.directory_id)) ?? missing('directory_run')
    requireSource(directory, 'scim')
    return directory
  }

  /** Adds a push to the current hour's run, or creates that run. */
  async function writeRun(
    tx: Tx,
    actor: Actor,
    { directory_id, provider }: runs.DirectoryOfRun,
    open: { run_id: string; counts: runs.DirectoryRunRow['counts'] | undefined; at: Date },
    pushed: Pushed,
  ): Promise<void> {
    const { run_id, counts, at } = open
    if (counts) {
      await queries.setRunCounts(tx, actor.tenantId, run_id, withPushed(counts as typeof noCounts, pushed), now())
      return
    }
    await runs.insertDirectoryRun(tx, {
      tenant_id: actor.tenantId,
      run_id,
      directory_id,
      provider,
      snapshot_id: `since ${at.toISOString()} ${run_id}`,
      generated_at: at,
      source: 'scim',
      status: 'applied',
      counts: withPushed(noCounts, pushed),
      held_because: [],
      diff: [],
      problems: [],
      problem_count: 0,
      started_at: at,
      finished_at: now(),
    })
  }

  async function pushed<T extends object>(
    tx: Tx,
    actor: Actor,
    work: (push: Push) => Promise<T | Held>,
  ): Promise<T | Held> {
    const directory = await hold(tx, actor)
    const { directory_id, provider } = directory
    const places = await owned.holdPlaces(tx, actor.tenantId)
    const at = now()
    const open = await queries.openRun(tx, actor.tenantId, directory_id, new Date(at.getTime() - windowMs))
    const run_id = open?.run_id ?? newUuid()
    let all: Pushed | undefined
    const touched: Change[] = []
    const outcome = await work({
      tx,
      actor,
      tenant: actor.tenantId,
      directory: directory_id,
      provider,
      places,
      details: { run_id: encodeId('directory_run', run_id), provider },
      done: (made, its) => {
        all = { ...all, ...made }
        touched.push(...its)
      },
    })
    if (isHeld(outcome) || !all) return outcome
    await writeRun(tx, actor, directory, { run_id, counts: open?.counts, at }, all)
    if (touched.length > 0) await changes.record(tx, actor.tenantId, touched)
    return outcome
  }

  return {
    /** An empty directory if nothing was pushed yet. */
    read: async (tx: Tx, actor: Actor): Promise<PushDirectory> => {
      const tenant = actor.tenantId
      const known = await runs.findDirectory(tx, tenant, nameOf(actor))
      if (known) requireSource(known, 'scim')
      return { tx, tenant, directory: known?.directory_id ?? nowhere }
    },

    /**
     * Runs a push. If it fails or is held, none of its changes is stored, and the caller gets an error; a hold is
     * stored.
     */
    push: async <T extends object>(actor: Actor, work: (push: Push) => Promise<T | Held>): Promise<T> => {
      const outcome = await inTurn(`${actor.tenantId} ${nameOf(actor).toLowerCase()}`, () =>
        unlessTaken(() => db.inTenant(actor.tenantId, (tx) => pushed(tx, actor, work), background)),
      )
      return isHeld(outcome) ? refuseHeldRun(outcome) : outcome
    },
  }
}
export type ScimProvisioning = ReturnType<typeof createScimProvisioning>
