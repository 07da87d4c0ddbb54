import type { DiffItem, HeldReason, Problem, RunCounts } from '@holdfast/contract/directory'
import type { Database } from '../../db/database.ts'
import type { Pager } from '../../db/page.ts'
import type { Handlers } from '../../http/handlers.ts'
import type { Actor } from '../../kernel/actor.ts'
import { encodeId, idOf, missing } from '../../kernel/ids.ts'
import type { Owned } from '../identity/index.ts'
import type { DirectoryRunRow } from './runs.queries.ts'
import * as queries from './runs.queries.ts'
import type { DirectoryRuns } from './runs.ts'
import type { createConfirm } from './scim/confirm.ts'
import type { createUndo } from './undo.ts'

type HandlerDeps = {
  db: Database
  pager: Pager
  runs: DirectoryRuns
  undo: ReturnType<typeof createUndo>
  owned: Pick<Owned, 'countOf'>
  scim: { confirm: ReturnType<typeof createConfirm> }
}

export function directoryHandlers({ db, pager, runs, undo, owned, scim }: HandlerDeps) {
  const confirm = async (actor: Actor, id: string, reason: string | undefined) =>
    (await scim.confirm(actor, id, reason)) ?? runs.confirm(actor, id, reason)

  return {
    ingestDirectorySnapshot: async ({ actor, body }) => viewDirectoryRun(await runs.ingest(actor, body)),

    getDirectorySyncStatus: ({ actor, query }) =>
      db.inTenant(actor.tenantId, async (tx) => {
        const { tenantId } = actor
        const found = await pager.list(queries.selectDirectories(tx, tenantId), {
          operation: 'getDirectorySyncStatus',
          tenant: tenantId,
          query,
          orders: { provider: { column: 'provider', kind: 'text' } },
          tie: 'directory_id',
        })
        const ids = found.items.map((d) => d.directory_id)
        const counted = new Map((await owned.countOf(tx, tenantId, ids)).map((c) => [c.directory_id, c]))
        const items = []
        for (const { directory_id, provider, generated_at, source } of found.items) {
          const { active = 0, suspended = 0, groups = 0 } = counted.get(directory_id) ?? {}
          const newest = async (which: Parameters<typeof queries.newestRun>[3]) => {
            const run = await queries.newestRun(tx, tenantId, directory_id, which)
            return run ? summary(run) : null
          }
          items.push({
            provider,
            source,
            generated_at: generated_at?.toISOString() ?? null,
            users: { active, suspended },
            groups,
            last_run: await newest('any'),
            last_success: await newest('succeeded'),
            held_run: await newest('held'),
          })
        }
        return { items, next_cursor: found.next_cursor }
      }),

    listDirectoryRuns: ({ actor, query }) =>
      db.inTenant(actor.tenantId, async (tx) => {
        const found = await pager.list(queries.selectDirectoryRuns(tx, actor.tenantId, query), {
          operation: 'listDirectoryRuns',
          tenant: actor.tenantId,
          query,
          orders: { started_at: { column: 'started_at', kind: 'time' } },
          tie: 'run_id',
        })
        return { items: found.items.map(summary), next_cursor: found.next_cursor }
      }),

    getDirectoryRun: ({ actor, params }) =>
      db.inTenant(actor.tenantId, async (tx) => {
        const run = await queries.findDirectoryRun(tx, actor.tenantId, idOf('directory_run', params.run_id))
        return viewDirectoryRun(run ?? missing('directory_run'))
      }),

    confirmDirectoryRun: async ({ actor, params, body }) =>
      viewDirectoryRun(await confirm(actor, idOf('directory_run', params.run_id), body.reason)),

    undoDirectoryRun: async ({ actor, params, body }) => {
      const { run, ...rest } = await undo(actor, idOf('directory_run', params.run_id), body.reason)
      return { run: viewDirectoryRun(run), ...rest }
    },
  } satisfies Partial<Handlers>
}

const summary = (run: DirectoryRunRow) => ({
  run_id: encodeId('directory_run', run.run_id),
  provider: run.provider,
  source: run.source,
  snapshot_id: run.snapshot_id,
  generated_at: run.generated_at.toISOString(),
  status: run.status,
  counts: run.counts as RunCounts,
  held_because: run.held_because as HeldReason[],
  problem_count: run.problem_count,
  source_id: run.source_id === null ? null : encodeId('directory_source', run.source_id),
  progress: run.progress,
  failure: run.failure,
  started_at: run.started_at.toISOString(),
  finished_at: run.finished_at?.toISOString() ?? null,
  confirmed_at: run.confirmed_at?.toISOString() ?? null,
  undone_at: run.undone_at?.toISOString() ?? null,
})
export const viewDirectoryRun = (run: DirectoryRunRow) => ({
  ...summary(run),
  diff: run.diff as DiffItem[],
  problems: run.problems as Problem[],
})
