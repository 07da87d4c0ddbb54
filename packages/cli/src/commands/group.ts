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
  const group = program.command('group').description('groups of users')
  limit(examples(group.command('list'), 'group list --q eng').description('list groups'))
    .option('--q <prefix>', 'name starts with')
    .action(async ({ limit: most, q }: { limit: number; q?: string }) => {
      const client = await cli.client()
      const query = { ...given({ q }), ...cli.scope }
      await printList(cli, most, columns, (page) => client.listGroups({ query: { ...query, ...page } }))
    })
  examples(group.command('show <group>'), 'group show engineering')
    .description('one group')
    .action(async (group_id: string) =>
      printItem(cli, await (await cli.client()).getGroup({ params: { group_id }, query: cli.scope })),
    )
  examples(group.command('create <name>'), 'group create engineering --member anna')
    .description('create a group')
    .option('--description <text>')
    .option('--member <user...>', 'users in it')
    .action(async (name: string, { description, member }: { description?: string; member?: string[] }) => {
      const fields = { name, ...given({ description, members: member }) }
      const client = await cli.client()
      const answer = await client.changeGroup({ body: { operation: 'create', group: fields }, query: cli.scope })
      printItem(cli, answer.group)
    })
  examples(
    reason(group.command('update <group>').description('rename or describe a group; fields that are not given stay'))
      .option('--name <name>')
      .option('--description <text>')
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
    reason(group.command('delete <group>').description('delete a group that no policy names; its users stay'))
      .option('--yes', 'do not ask for confirmation')
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
      .description('add users to a group')
      .action((id: string, users: string[]) => move(id, { add_members: users })),
    'group add engineering anna',
  )
  examples(group.command('remove <group> <user...>'), 'group remove engineering anna')
    .description('remove users from a group')
    .action((id: string, users: string[]) => move(id, { remove_members: users }))
}
