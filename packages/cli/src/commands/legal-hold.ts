import type { Contract, Output } from '@holdfast/contract'
import { type RetentionClass, retentionClasses } from '@holdfast/contract/vocabulary'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, examples, limit } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'

type Hold = Output<Contract['placeLegalHold']>
const columns: readonly Column<Hold>[] = [
  ['LEGAL HOLD', (h) => h.legal_hold_id],
  ['CLASSES', (h) => (h.classes.length > 0 ? h.classes : 'all')],
  ['SUBJECT', (h) => h.subject_name ?? 'everybody'],
  ['REASON', (h) => h.reason],
  ['PLACED', (h) => h.placed_at],
  ['BY', (h) => h.placed_by.name],
  ['RELEASED', (h) => h.released_at],
]
type Place = { class?: RetentionClass[]; user?: string; device?: string; reason: string }

export function addLegalHold(program: Command, cli: Cli): void {
  const hold = program
    .command('legal-hold')
    .description('Manage legal holds\n\nData under a legal hold is never purged.')
  limit(
    examples(hold.command('list'), 'legal-hold list').description('List legal holds, including released ones'),
  ).action(async ({ limit: most }: { limit: number }) => {
    const client = await cli.client()
    await printList(cli, most, columns, (page) => client.listLegalHolds({ query: { ...page, ...cli.scope } }))
  })
  examples(
    hold
      .command('place')
      .description('Place a legal hold\n\nFrom now on, the data that it covers is not purged.')
      .requiredOption('--reason <text>', 'reason, recorded in the audit log')
      .addOption(choice('--class <class...>', 'only these classes of data', retentionClasses))
      .option('--user <user>', 'only data about this user')
      .option('--device <device>', 'only data about this device')
      .action((options: Place) => place(cli, options)),
    'legal-hold place --reason "proceedings 12-34"',
    'legal-hold place --reason "proceedings 12-34" --class vpn_sessions --user jane',
  )
  examples(
    hold
      .command('release <legal-hold>')
      .description('Release a legal hold\n\nIts data may be purged again.')
      .requiredOption('--reason <text>', 'reason, recorded in the audit log')
      .option('--yes', 'skip the confirmation prompt')
      .action(async (legal_hold_id: string, { reason, yes }: { reason: string; yes?: boolean }) => {
        await cli.sure(yes, `Release ${legal_hold_id}?`)
        const client = await cli.client()
        const call = { params: { legal_hold_id }, body: { reason }, query: cli.scope }
        const answer = await client.releaseLegalHold(call)
        if (cli.json) printItem(cli, answer)
        else cli.say(`${legal_hold_id}  released${answer.changed ? '' : '  (unchanged)'}`)
      }),
    'legal-hold release lgh_01jxz3c9dqf7vr2m8k4s6t0b5w --reason settled --yes',
  )
}

async function place(cli: Cli, { class: classes, user: user_id, device: device_id, reason }: Place): Promise<void> {
  const client = await cli.client()
  const body = { reason, ...given({ classes, user_id, device_id }) }
  printItem(cli, await client.placeLegalHold({ body, query: cli.scope }))
}
