import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { examples } from '../options.ts'
import { printAll, printItem } from '../output.ts'
import {
  addChanges,
  bodyOf,
  printOutcome,
  type RunOptions,
  runColumns,
  runnable,
  workflowColumns,
} from '../workflow-run.ts'

export function addIncident(program: Command, cli: Cli): void {
  const incident = program.command('incident').description('Respond to incidents with playbooks')
  examples(incident.command('list').description('List playbooks and their last runs'), 'incident list').action(
    async () => {
      const found = await (await cli.client()).listPlaybooks({ query: cli.scope })
      if (cli.json) return printItem(cli, found)
      await printAll(cli, workflowColumns, found.items)
      await printAll(cli, runColumns, found.runs)
    },
  )
  examples(
    runnable(
      incident
        .command('run <playbook> [parameter...]')
        .description('Run a playbook\n\nIt runs with your own permissions. Exit code 1: the run failed.'),
    ).action(async (name: string, parameters: string[], options: RunOptions) => {
      const body = { workflow: name, ...bodyOf(parameters, options) }
      if (!options.dryRun) await cli.sure(options.yes, `Run ${name}?`)
      await printOutcome(cli, (await (await cli.client()).runPlaybook({ body, query: cli.scope })).run)
    }),
    'incident run lost_device device_id=laptop --dry-run',
    'incident run compromised_user user_id=anna suspend=true --reason phished --undo-after 24h --yes',
    'incident run lockdown --reason "ransomware at work" --yes',
  )
  addChanges(incident, cli, (client, input) => client.changePlaybookRun(input))
}
