import type { Contract, Output } from '@holdfast/contract'
import { type ViewList, viewListNames } from '@holdfast/contract/vocabulary'
import { changeView } from '@holdfast/sdk'
import { Argument, type Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { choice, examples, limit } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'

type View = Output<Contract['getView']>
type Query = Record<string, string>
const columns: readonly Column<View>[] = [
  ['VIEW', (v) => v.view_id],
  ['LIST', (v) => v.list],
  ['NAME', (v) => v.name],
  ['OWNER', (v) => v.owner?.username ?? null],
  ['SHARED', (v) => v.shared],
  ['QUERY', (v) => Object.entries(v.query).map(([name, value]) => `${name}=${value}`)],
]

/** Collects `name=value` words into one object. */
function parameters(text: string, before: Query = {}): Query {
  const at = text.indexOf('=')
  if (at < 1 || at === text.length - 1)
    throw new UsageError(`--query ${text}: write name=value, for example --query status=active`)
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}
const querying = (command: Command): Command =>
  command.option('--query <parameter...>', 'name=value: parameters of the list, as in its query string', parameters)

export function addView(program: Command, cli: Cli): void {
  const view = program
    .command('view')
    .description('Manage saved views\n\nA saved view is a filter of a list with a name.')
  limit(examples(view.command('list').description('List your own views and the shared ones'), 'view list --of devices'))
    .addOption(choice('--of <list>', 'only views of this list', viewListNames))
    .action(async ({ limit: most, of: list }: { limit: number; of?: ViewList }) => {
      const client = await cli.client()
      const query = { ...given({ list }), ...cli.scope }
      await printList(cli, most, columns, (page) => client.listViews({ query: { ...query, ...page } }))
    })
  examples(view.command('show <view>').description('Show a saved view'), 'view show "lost laptops"').action(
    async (view_id: string) =>
      printItem(cli, await (await cli.client()).getView({ params: { view_id }, query: cli.scope })),
  )
  examples(
    querying(
      view
        .command('create')
        .description('Save a view of a list')
        .addArgument(new Argument('<list>', 'list that the view filters').choices(viewListNames))
        .argument('<name>', 'name of the view'),
    )
      .option('--shared', 'share it with all users of the tenant that may read the list')
      .action(async (list: ViewList, name: string, { query = {}, shared = false }: Settings) => {
        const client = await cli.client()
        printItem(cli, await client.createView({ body: { list, name, query, shared }, query: cli.scope }))
      }),
    'view create devices "suspended Macs" --query status=suspended platform=macos --shared',
  )
  examples(
    querying(view.command('update <view>').description('Change a saved view\n\nA query replaces the whole query.'))
      .option('--name <name>', 'new name')
      .option('--shared', 'share it with all users of the tenant that may read the list')
      .option('--no-shared', 'keep it for its owner only')
      .action((view_id: string, options: Settings) => update(cli, view_id, options)),
    'view update "suspended Macs" --name "Macs to fetch"',
  )
  examples(
    view
      .command('delete <view>')
      .description('Delete a saved view')
      .option('--yes', 'skip the confirmation prompt')
      .action(async (view_id: string, { yes }: { yes?: boolean }) => {
        await cli.sure(yes, `Delete ${view_id}?`)
        const { changed } = await (await cli.client()).deleteView({ params: { view_id }, query: cli.scope })
        if (cli.json) printItem(cli, { view_id, changed })
        else cli.say(`${view_id}  deleted${changed ? '' : '  (unchanged)'}`)
      }),
    'view delete "suspended Macs" --yes',
  )
}

type Settings = { name?: string; query?: Query; shared?: boolean }

async function update(cli: Cli, view_id: string, { name, query, shared }: Settings): Promise<void> {
  const named = given({ name, query, shared })
  if (Object.keys(named).length === 0) throw new UsageError('Nothing to change; see: holdfast view update --help')
  printItem(cli, await changeView(await cli.client(), { params: { view_id }, query: cli.scope }, named))
}
