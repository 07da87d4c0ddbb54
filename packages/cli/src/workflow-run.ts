import type { Contract, Output } from '@holdfast/contract'
import type { RunOperation } from '@holdfast/contract/vocabulary'
import type { Client } from '@holdfast/sdk'
import type { Command } from 'commander'
import { type Cli, given } from './cli.ts'
import { Declined, UsageError } from './exit.ts'
import { duration, examples, reason } from './options.ts'
import { type Column, printAll, printItem } from './output.ts'

type Run = Output<Contract['getWorkflowRun']>
type RunSummary = Output<Contract['listWorkflowRuns']>['items'][number]
type Workflow = Output<Contract['listWorkflows']>['items'][number]
export type RunOptions = { dryRun?: boolean; reason?: string; undoAfter?: number; yes?: boolean }

export const workflowColumns: readonly Column<Workflow>[] = [
  ['NAME', (w) => w.workflow],
  ['PARAMETERS', (w) => Object.keys((w.params as { properties?: object }).properties ?? {})],
  ['APPROVAL', (w) => w.second_approver],
  ['DESCRIPTION', (w) => w.summary],
]
export const runColumns: readonly Column<RunSummary>[] = [
  ['RUN', (r) => r.workflow_run_id],
  ['NAME', (r) => r.workflow],
  ['STATUS', (r) => r.status],
  ['BY', (r) => r.requested_by.name],
  ['STARTED', (r) => r.started_at],
  ['FINISHED', (r) => r.finished_at],
]
const stepColumns: readonly Column<Run['steps'][number]>[] = [
  ['STEP', (s) => s.step],
  ['STATUS', (s) => s.status],
  ['AFFECTS', (s) => s.affects_count],
  ['DESCRIPTION', (s) => s.summary],
  ['ERROR', (s) => s.error],
]

type Confirmations = NonNullable<Run['steps'][number]['confirmations']>
const confirmationColumns: readonly Column<Confirmations['gateways'][number]>[] = [
  ['GATEWAY', (g) => g.gateway_name],
  ['STATE', (g) => g.state],
  ['CONFIRMED', (g) => g.confirmed_at],
]

/** Parses `name=value` for a workflow: whole numbers, booleans, and JSON objects get their types. */
function paramsOf(assignments: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    assignments.map((text) => {
      const [, name, value = ''] = /^([a-z_]+)=(.*)$/s.exec(text) ?? []
      if (name === undefined) throw new UsageError(`${text}: write parameters as name=value.`)
      if (value === 'true' || value === 'false') return [name, value === 'true']
      if (value.startsWith('{')) return [name, objectOf(text, value)]
      return [name, /^\d{1,9}$/.test(value) && !name.endsWith('_id') ? Number(value) : value]
    }),
  )
}

function objectOf(text: string, value: string): object {
  try {
    return JSON.parse(value)
  } catch {
    throw new UsageError(`${text}: the value is not JSON.`)
  }
}

export const runnable = (command: Command): Command =>
  reason(command)
    .option('--dry-run', 'show the changes without making them')
    .option('--undo-after <duration>', 'duration after which the changes are undone, as far as possible', duration)
    .option('--yes', 'skip the confirmation prompt')

export const bodyOf = (assignments: readonly string[], { dryRun, reason: why, undoAfter }: RunOptions) => ({
  params: paramsOf(assignments),
  ...given({ dry_run: dryRun, reason: why, undo_after_seconds: undoAfter }),
})

export async function printRun(cli: Cli, run: Run): Promise<void> {
  const { steps, ...summary } = run
  printItem(cli, cli.json ? run : summary)
  if (cli.json) return
  await printAll(cli, stepColumns, steps)
  // A server of an earlier version returns none.
  for (const { confirmations } of steps)
    if (confirmations) await printAll(cli, confirmationColumns, confirmations.gateways)
}
/** Prints a run that was requested. Exit code 1 if it failed. */
export async function printOutcome(cli: Cli, run: Run): Promise<void> {
  await printRun(cli, run)
  if (run.status === 'awaiting_approval') cli.note(`Another person must approve it until ${run.approval_expires_at}.`)
  if (run.status === 'running')
    cli.note(`The run continues. To see it, run: holdfast workflow show ${run.workflow_run_id}`)
  if (run.status === 'failed') throw new Declined()
}

type Change = (
  client: Client,
  input: {
    params: { workflow_run_id: string }
    body: { operation: RunOperation; reason?: string }
    query: Cli['scope']
  },
) => Promise<{ changed: boolean; run: Run }>
const changes: readonly (readonly [RunOperation, string])[] = [
  ['approve', 'Approve a run that another person requested'],
  ['cancel', 'Cancel a run after its present step\n\nChanges that the run has made stay.'],
  ['resume', 'Retry the failed steps of a run'],
  ['undo', 'Undo the changes of a run, as far as possible'],
]

/** Adds the same four commands for workflows and playbooks. */
export function addChanges(parent: Command, cli: Cli, change: Change): void {
  for (const [operation, description] of changes)
    examples(
      reason(parent.command(`${operation} <run>`).description(description)).action(
        async (workflow_run_id: string, { reason: why }: { reason?: string }) => {
          const body = { operation, ...given({ reason: why }) }
          const answer = await change(await cli.client(), { params: { workflow_run_id }, body, query: cli.scope })
          if (!answer.changed) cli.note('No change.')
          await printOutcome(cli, answer.run)
        },
      ),
      `${parent.name()} ${operation} wfr_01jxz3c9dqf7vr2m8k4s6t0b5w`,
    )
}
