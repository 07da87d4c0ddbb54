import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { examples, integer } from '../options.ts'
import { printItem } from '../output.ts'
import { plain } from '../text.ts'
import { readDocument } from './policy-document.ts'

/** Commands for rolling out a draft to all devices, and rolling it back. */
export function addPolicyRollout(policy: Command, cli: Cli): void {
  examples(
    policy
      .command('replay <file>')
      .description('Show recent sessions that a document would have blocked')
      .option('--days <n>', 'number of days to look back', integer(1, 90), 7)
      .action((file: string, { days }: { days: number }) => replay(cli, file, days)),
    'policy replay policy.json --days 14',
  )
  examples(
    policy
      .command('health <bundle>')
      .description('Compare the problems of canary and stable devices\n\nIt also shows the state of the gate.')
      .action((bundle_id: string) => health(cli, bundle_id)),
    'policy health 12',
  )
  examples(
    policy
      .command('promote')
      .description('Publish the document of the canary to stable')
      .option('--note <text>', 'reason for this version; lists show it')
      .option('--override-gate', 'publish even if the gate of the canary has not passed; needs --note with the reason')
      .action(({ note, overrideGate }: { note?: string; overrideGate?: boolean }) =>
        publishFrom(cli, { from: { channel: 'canary' }, ...given({ note, override_gate: overrideGate }) }),
      ),
    'policy promote --note "no complaints in a week"',
  )
  examples(
    policy
      .command('rollback')
      .description(
        'Publish an earlier version to stable again\n\nWithout --to, it publishes the present stable version again, which ends a canary.',
      )
      .option('--to <version>', 'version to publish', integer(1, Number.MAX_SAFE_INTEGER))
      .option('--note <text>', 'reason for this version; lists show it')
      .option('--override-gate', 'publish even if the gate of the canary has not passed; needs --note with the reason')
      .action(({ to, note, overrideGate }: { to?: number; note?: string; overrideGate?: boolean }) =>
        publishFrom(cli, {
          from: to === undefined ? { channel: 'stable' } : { version: to },
          supersede: true,
          ...given({ note, override_gate: overrideGate }),
        }),
      ),
    'policy rollback',
    'policy rollback --to 11 --note "version 12 locked support out"',
  )
}

type From = {
  from: { channel: 'canary' | 'stable' } | { version: number }
  note?: string
  supersede?: boolean
  override_gate?: boolean
}
async function publishFrom(cli: Cli, from: From): Promise<void> {
  const client = await cli.client()
  const bundle = await client.publishPolicy({ body: { channel: 'stable', ...from }, query: cli.scope })
  if (!cli.json) cli.note(`Published version ${bundle.version} on stable.`)
  printItem(cli, bundle)
}

async function health(cli: Cli, bundle_id: string): Promise<void> {
  const found = await (await cli.client()).getPolicyHealth({ params: { bundle_id }, query: cli.scope })
  if (cli.json) return printItem(cli, found)
  const { version, running, since, canary, stable, measures, gate } = found
  cli.say(`version ${version}, ${running ? 'on canary now' : 'no active canary'}`)
  if (!canary || !stable) cli.say('No figures: this version had no gate.')
  else {
    cli.say(`${canary.devices} devices on canary and ${stable.devices} on stable have reported since ${since}`)
    for (const { measure, canary_percent, stable_percent, p_value } of measures)
      cli.say(
        `${measure}: ${canary[measure]} (${canary_percent} %) on canary, ${stable[measure]} (${stable_percent} %) on stable, p = ${p_value.toPrecision(2)}`,
      )
  }
  if (gate) cli.say(plain(`gate: ${gate.state}${gate.reason === null ? '' : `: ${gate.reason}`}`))
}

async function replay(cli: Cli, file: string, days: number): Promise<void> {
  const policy = await readDocument(cli, file)
  const found = await (await cli.client()).replayPolicy({ body: { policy, days }, query: cli.scope })
  if (cli.json) return printItem(cli, found)
  const { sessions_examined, sessions_skipped, complete, sessions_blocked, users_blocked, devices_blocked } = found
  cli.say(
    cli.strong(
      `Would have blocked ${sessions_blocked} sessions of ${users_blocked} users (${devices_blocked} devices), of ${complete ? '' : 'the newest '}${sessions_examined} sessions.`,
    ),
  )
  if (sessions_skipped > 0)
    cli.say(`Not examined: ${sessions_skipped} sessions of devices that are revoked, suspended or locked now.`)
  for (const { resource, sessions, users } of found.resources)
    cli.say(plain(`${resource}: ${sessions} sessions of ${users} users`))
}
