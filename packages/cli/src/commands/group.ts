import type { Contract, Output } from '@holdfast/contract'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { examples, limit } from '../options.ts'
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
  examples(group.command('create <name>'), 'group create engineering --member usr_01jxz3c9dqf7vr2m8k4s6t0b5w')
    .description('create a group')
    .option('--description <text>')
    .option('--member <user_id...>', 'users in it')
    .action(async (name: string, { description, member }: { description?: string; member?: string[] }) => {
      const fields = { name, ...given({ description, members: member }) }
      const client = await cli.client()
      const answer = await client.changeGroup({ body: { operation: 'create', group: fields }, query: cli.scope })
      printItem(cli, answer.group)
    })
  const move = async (group_id: string, members: { add_members?: string[]; remove_members?: string[] }) => {
    const client = await cli.client()
    const body = { operation: 'update', group_id, group: members } as const
    printItem(cli, (await client.changeGroup({ body, query: cli.scope })).group)
  }
  examples(
    group
      .command('add <group_id> <user_id...>')
      .description('add users to a group')
      .action((id: string, users: string[]) => move(id, { add_members: users })),
    'group add grp_01jxz3c9dqf7vr2m8k4s6t0b5w usr_01jxz3c9dqf7vr2m8k4s6t0b5w',
  )
  examples(
    group.command('remove <group_id> <user_id...>'),
    'group remove grp_01jxz3c9dqf7vr2m8k4s6t0b5w usr_01jxz3c9dqf7vr2m8k4s6t0b5w',
  )
    .description('remove users from a group')
    .action((id: string, users: string[]) => move(id, { remove_members: users }))
}
