import { typeId } from '../benchmarks/rig/type-id.ts'
import type { Postgres } from '../deployment/postgres.ts'
import { type Made, type Record, statesAfter } from './record.ts'

type ReadBack = { lost: string[]; refusedButThere: string[]; twice: string[]; unknownButThere: number }

/** Looks for every recorded request in the database itself. */
export async function readBack(postgres: Postgres, record: Record): Promise<ReadBack> {
  const found: ReadBack = { lost: [], refusedButThere: [], twice: [], unknownButThere: 0 }
  const names = {
    user: await countsOf(postgres, 'select username as name from users where deleted_at is null'),
    device: await countsOf(postgres, 'select name from devices'),
    publication: await countsOf(postgres, 'select note as name from policy_bundles'),
  }
  for (const made of record.made) judgeMade(made, names[made.kind].get(made.marker) ?? 0, found)
  await judgeMoves(postgres, record, found)
  return found
}

async function countsOf(postgres: Postgres, sql: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const { name } of await postgres.query<{ name: string }>(sql)) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

function judgeMade({ kind, marker, outcome }: Made, count: number, found: ReadBack): void {
  if (outcome === 'acknowledged' && count === 0) found.lost.push(`${kind} ${marker}`)
  if (outcome === 'refused' && count > 0) found.refusedButThere.push(`${kind} ${marker}`)
  if (count > 1) found.twice.push(`${kind} ${marker}: ${count} of them`)
  if (outcome === 'unknown' && count > 0) found.unknownButThere++
}

/** The state of each subject must follow from its moves, and the trail must name every one of them once. */
async function judgeMoves(postgres: Postgres, { subjects }: Record, found: ReadBack): Promise<void> {
  const states = new Map<string, string>()
  for (const kind of ['user', 'device'] as const)
    for (const row of await postgres.query<{ id: string; status: string }>(
      `select ${kind}_id as id, status from ${kind}s`,
    ))
      states.set(typeId(kind, row.id), row.status)
  const trail = new Map(
    (
      await postgres.query<{ target_id: string; n: number }>(
        `select target_id, count(*)::int as n from (
           select outcome, kind, target_id, record from audit_log
           union all select outcome, kind, target_id, record from audit_arrivals) as e
         where outcome = 'success' and kind in ('device.changed', 'user.changed')
           and record::jsonb ->> 'operation' in ('suspend', 'reactivate', 'revoke') group by target_id`,
      )
    ).map(({ target_id, n }) => [target_id, n]),
  )
  for (const { kind, id, moves } of subjects.values()) {
    const state = states.get(id) ?? 'not there'
    const may = statesAfter('active', moves)
    if (!may.has(state)) found.lost.push(`${kind} ${id} is ${state}, must be ${[...may].join(' or ')}`)
    const told = trail.get(id) ?? 0
    const done = moves.filter(({ outcome, changed }) => outcome === 'acknowledged' && changed).length
    const unknown = moves.filter(({ outcome }) => outcome === 'unknown').length
    if (told < done) found.lost.push(`${kind} ${id}: ${done} moves acknowledged, ${told} on record`)
    if (told > done + unknown) found.twice.push(`${kind} ${id}: ${done} to ${done + unknown} moves, ${told} on record`)
  }
}
