import type { Contract, Output } from '@holdfast/contract'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { examples, limit, reason } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'

type Group = Output<Contract['getGroup']>
const columns: readonly Column<Group>[] = [
  ['GROUP', (g) => g.group_id],
  ['NAME', (g) => g.name],
  ['MEMBERS', (g) => g.member_count],
  ['DESCRIPTION', (g) => g.description],
]

export function addGroup(program: Command, cli: Cli): void {
  const group = program.command('group').description('Manage groups of users')
  limit(examples(group.command('list'), 'group list --q eng').description('List groups'))
    .option('--q <prefix>', 'only names that begin with this text')
    .action(async ({ limit: most, q }: { limit: number; q?: string }) => {
      const client = await cli.client()
      const query = { ...given({ q }), ...cli.scope }
      await printList(cli, most, columns, (page) => client.listGroups({ query: { ...query, ...page } }))
    })
  examples(group.command('show <group>'), 'group show engineering')
    .description('Show a group')
    .action(async (group_id: string) =>
      printItem(cli, await (await cli.client()).getGroup({ params: { group_id }, query: cli.scope })),
    )
  examples(group.command('create <name>'), 'group create engineering --member anna')
    .description('Create a group')
    .option('--description <text>', 'description of the group')
    .option('--member <user...>', 'users in the group')
    .action(async (name: string, { description, member }: { description?: string; member?: string[] }) => {
      const fields = { name, ...given({ description, members: member }) }
      const client = await cli.client()
      const answer = await client.changeGroup({ body: { operation: 'create', group: fields }, query: cli.scope })
      printItem(cli, answer.group)
    })
  examples(
    reason(
      group
        .command('update <group>')
        .description('Change the name or the description of a group\n\nOptions that you leave out do not change.'),
    )
      .option('--name <name>', 'new name')
      .option('--description <text>', 'description of the group')
      .action(async (group_id: string, options: { name?: string; description?: string; reason?: string }) => {
        const { name, description, reason: why } = options
        const fields = given({ name, description })
        if (Object.keys(fields).length === 0)
          throw new UsageError('Nothing to change; see: holdfast group update --help')
        const body = { operation: 'update', group_id, group: fields, ...given({ reason: why }) } as const
        const answer = await (await cli.client()).changeGroup({ body, query: cli.scope })
        if (!answer.changed) cli.note('No change.')
        printItem(cli, answer.group)
      }),
    'group update engineering --name "Engineering and research"',
  )
  examples(
    reason(
      group.command('delete <group>').description('Delete a group\n\nNo policy may name the group. Its users stay.'),
    )
      .option('--yes', 'skip the confirmation prompt')
      .action(async (group_id: string, options: { reason?: string; yes?: boolean }) => {
        await cli.sure(options.yes, `Delete ${group_id}?`)
        const body = { operation: 'delete', group_id, ...given({ reason: options.reason }) } as const
        const { group: gone, changed } = await (await cli.client()).changeGroup({ body, query: cli.scope })
        if (cli.json) printItem(cli, { group_id: gone.group_id, changed })
        else cli.say(`${gone.group_id}  deleted${changed ? '' : '  (unchanged)'}`)
      }),
    'group delete engineering --yes',
  )
  const move = async (group_id: string, members: { add_members?: string[]; remove_members?: string[] }) => {
    const client = await cli.client()
    const body = { operation: 'update', group_id, group: members } as const
    printItem(cli, (await client.changeGroup({ body, query: cli.scope })).group)
  }
  examples(
    group
      .command('add <group> <user...>')
      .description('Add users to a group')
      .action((id: string, users: string[]) => move(id, { add_members: users })),
    'group add engineering anna',
  )
  examples(group.command('remove <group> <user...>'), 'group remove engineering anna')
    .description('Remove users from a group')
    .action((id: string, users: string[]) => move(id, { remove_members: users }))
}
