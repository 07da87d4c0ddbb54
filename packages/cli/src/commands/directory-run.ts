import type { Contract, Output } from '@holdfast/contract'
import type { Cli } from '../cli.ts'
import { printItem } from '../output.ts'
import { plain } from '../text.ts'

type Run = Output<Contract['getDirectoryRun']>

const signs: Record<Run['diff'][number]['change'], string> = {
  user_created: '+ user',
  user_updated: '~ user',
  user_suspended: '- user',
  user_reactivated: '+ user, reactivated',
  group_created: '+ group',
  group_updated: '~ group',
  group_emptied: '- group',
  group_members_changed: '~ group',
}

export function printRun(cli: Cli, run: Run): void {
  if (cli.json) printItem(cli, run)
  else printChanges(cli, run)
}

function printChanges(cli: Cli, run: Run): void {
  const { users, groups, memberships } = run.counts
  cli.say(cli.strong(plain(`${run.run_id}  ${run.provider}  ${run.undone_at ? 'undone' : run.status}`)))
  if (run.failure !== null) cli.say(plain(run.failure))
  if (run.progress && run.status !== 'applied') cli.say(progressOf(run.progress))
  if (['fetching', 'failed', 'cancelled'].includes(run.status)) return
  cli.say(
    `users: ${users.created} created, ${users.updated} updated, ${users.suspended} suspended, ${users.reactivated} reactivated, ${users.unchanged} unchanged`,
  )
  cli.say(
    `groups: ${groups.created} created, ${groups.updated} updated, ${groups.emptied} emptied, ${groups.unchanged} unchanged`,
  )
  cli.say(`memberships: ${memberships.added} added, ${memberships.removed} removed`)
  for (const { rule, removed, of, most, group } of run.held_because)
    cli.say(
      plain(
        `held: ${rule}${group === null ? '' : ` ${group}`}: ${removed} of ${of} would be removed; the limit is ${most}`,
      ),
    )
  for (const { change, name, external_id, detail } of run.diff)
    cli.say(plain(`  ${signs[change]} ${name} (${external_id})${detail === null ? '' : `: ${detail}`}`))
  for (const { problem, external_id, detail } of run.problems)
    cli.say(plain(`  ! ${problem} ${external_id}: ${detail}`))
  if (run.problem_count > run.problems.length) cli.note(`${run.problem_count} entries were skipped in total.`)
}

/** Returns the next steps for a held run. */
export const nextOfHeld = (run_id: string): string =>
  `To apply it: holdfast directory confirm ${run_id}. If it is a mistake: holdfast directory cancel ${run_id}`

/** Describes the progress of a pull in one line. */
export function progressOf({ phase, users, groups, memberships }: NonNullable<Run['progress']>): string {
  const n = ({ read, of }: { read: number; of: number | null }) =>
    `${read.toLocaleString('en')}${of === null ? '' : ` of ${of.toLocaleString('en')}`}`
  const word = phase === 'applying' ? 'applying' : phase === 'changes' ? 'fetching changes' : 'fetching'
  return `${word}: users ${n(users)}, groups ${n(groups)}, memberships ${memberships.toLocaleString('en')}`
}
