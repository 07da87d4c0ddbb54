import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, examples, limit } from '../options.ts'
import { printAll, printItem, printList } from '../output.ts'
import {
  addChanges,
  bodyOf,
  printOutcome,
  printRun,
  type RunOptions,
  runColumns,
  runnable,
  workflowColumns,
} from '../workflow-run.ts'

export function addWorkflow(program: Command, cli: Cli): void {
  const workflow = program.command('workflow').description('Manage workflows and their runs')
  examples(workflow.command('list').description('List workflows'), 'workflow list').action(async () =>
    printAll(cli, workflowColumns, (await (await cli.client()).listWorkflows({ query: cli.scope })).items),
  )
  examples(
    runnable(
      workflow
        .command('run <workflow> [parameter...]')
        .description('Run a workflow\n\nIt runs with your own permissions. Exit code 1: the run failed.'),
    ).action(async (name: string, parameters: string[], options: RunOptions) => {
      const body = { workflow: name, ...bodyOf(parameters, options) }
      if (!options.dryRun) await cli.sure(options.yes, `Run ${name}?`)
      await printOutcome(cli, (await (await cli.client()).runWorkflow({ body, query: cli.scope })).run)
    }),
    'workflow run offboard_user user_id=anna --dry-run',
    'workflow run rollback_policy version=12 --reason "it broke the printers" --yes',
  )
  limit(examples(workflow.command('runs').description('List runs, including those of playbooks'), 'workflow runs'))
    .addOption(choice('--kind <kind>', 'only runs of this kind', ['workflow', 'playbook']))
    .action(async ({ limit: most, kind }: { limit: number; kind?: 'workflow' | 'playbook' }) => {
      const client = await cli.client()
      const query = { ...given({ kind }), ...cli.scope }
      await printList(cli, most, runColumns, (page) => client.listWorkflowRuns({ query: { ...query, ...page } }))
    })
  examples(
    workflow.command('show <run>').description('Show a run and its steps'),
    'workflow show wfr_01jxz3c9dqf7vr2m8k4s6t0b5w',
  ).action(async (workflow_run_id: string) => {
    const run = await (await cli.client()).getWorkflowRun({ params: { workflow_run_id }, query: cli.scope })
    await printRun(cli, run)
  })
  examples(
    workflow
      .command('evidence <run>')
      .description('Print the evidence of a run\n\nThe audit log contains the digest of the evidence.'),
    'workflow evidence wfr_01jxz3c9dqf7vr2m8k4s6t0b5w > evidence.json',
  ).action(async (workflow_run_id: string) => {
    const given = await (await cli.client()).getWorkflowEvidence({ params: { workflow_run_id }, query: cli.scope })
    if (cli.json) return printItem(cli, given)
    cli.say(given.evidence)
    cli.note(`SHA-256 ${given.evidence_digest}; events: holdfast audit list --request ${given.request_id}`)
  })
  addChanges(workflow, cli, (client, input) => client.changeWorkflowRun(input))
}
