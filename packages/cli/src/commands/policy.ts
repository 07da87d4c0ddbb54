import type { Contract, Input, Output } from '@holdfast/contract'
import { channels } from '@holdfast/contract/devices'
import { canaryMeasures, gateFailures } from '@holdfast/contract/vocabulary'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { Declined, UsageError } from '../exit.ts'
import { choice, examples, integer, limit, parseMoment, percentage } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'
import { jsonText, plain } from '../text.ts'
import { readDocument } from './policy-document.ts'
import { addPolicyDraft } from './policy-draft.ts'
import { addPolicyReach, printParties } from './policy-reach.ts'
import { addPolicyRollout } from './policy-rollout.ts'

type Bundle = Output<Contract['listPolicyBundles']>['items'][number]
type Validation = Output<Contract['validatePolicy']>
type Tests = NonNullable<Validation['tests']>
const columns: readonly Column<Bundle>[] = [
  ['VERSION', (b) => b.version],
  ['CHANNEL', (b) => `${b.channel}${b.current ? ' (current)' : ''}`],
  ['BUNDLE', (b) => b.bundle_id],
  ['PUBLISHED', (b) => b.published_at],
  ['APPLIED', (b) => `${b.adoption.applied}/${b.adoption.applied + b.adoption.pending}`],
  ['NOTE', (b) => b.note],
]

type Pending = Output<Contract['listPendingAdoption']>['items'][number]
const pendingColumns: readonly Column<Pending>[] = [
  ['TYPE', (p) => p.type],
  ['NAME', (p) => p.name],
  ['ID', (p) => p.id],
  ['APPLIED', (p) => p.applied_at],
  ['LAST SEEN', (p) => p.last_seen_at],
]

export function addPolicy(program: Command, cli: Cli): void {
  const policy = program.command('policy').description('Manage policies')
  examples(
    policy
      .command('publish <file>')
      .description('Publish a policy document\n\nThe file is JSON; - is stdin.')
      .addOption(choice('--channel <channel>', 'channel to publish to', channels).makeOptionMandatory())
      .option('--percent <n>', 'percentage of the devices that get the canary', percentage)
      .option('--group <group...>', 'groups whose devices get the canary')
      .option('--note <text>', 'reason for this version; lists show it')
      .option('--allow-failing-tests', 'publish even if tests of the document fail')
      .option('--supersede', 'end the active canary; needed to publish to stable while a canary is active')
      .option('--override-gate', 'publish even if the gate of the canary has not passed; needs --note with the reason')
      .addOption(
        choice(
          '--gate <action>',
          'compare canary devices with stable devices, and do this if the canary fails',
          gateFailures,
        ),
      )
      .option('--observe-minutes <n>', 'minimum duration of the comparison in minutes', integer(1, 20_160))
      .option('--min-devices <n>', 'minimum number of devices of each channel in the comparison', integer(5, 100_000))
      .option(
        '--max-rise <percent>',
        'allowed rise of the share of devices with problems, in percentage points',
        percentage,
      )
      .action((file: string, options: Publish) => publish(cli, file, options)),
    'policy publish policy.json --channel canary --percent 10 --note "wiki for everyone"',
    'policy publish policy.json --channel canary --percent 10 --gate rollback',
  )
  limit(
    examples(policy.command('list'), 'policy list --channel stable --limit 5').description(
      'List published versions, newest first',
    ),
  )
    .addOption(choice('--channel <channel>', 'only versions of this channel', channels))
    .action(async ({ limit: most, channel }: { limit: number; channel?: Bundle['channel'] }) => {
      const client = await cli.client()
      const query = { ...given({ channel }), ...cli.scope }
      await printList(cli, most, columns, (page) => client.listPolicyBundles({ query: { ...query, ...page } }))
    })
  examples(
    policy
      .command('show <bundle>')
      .description('Show a published version')
      .option('--document', 'print only the document, so that it can be published again')
      .action(async (bundle_id: string, options: { document?: boolean }) => {
        const client = await cli.client()
        const { policy: document, ...bundle } = await client.getPolicyBundle({
          params: { bundle_id },
          query: cli.scope,
        })
        if (options.document) cli.say(jsonText(document, 2))
        else printItem(cli, cli.json ? { ...bundle, policy: document } : bundle)
      }),
    'policy show 12 --document > policy.json',
  )
  limit(
    examples(policy.command('pending <bundle>'), 'policy pending 12').description(
      'List gateways and devices that have not confirmed a version\n\nThe version was delivered to them.',
    ),
  ).action(async (bundle_id: string, { limit: most }: { limit: number }) => {
    const client = await cli.client()
    await printList(cli, most, pendingColumns, (page) =>
      client.listPendingAdoption({ params: { bundle_id }, query: { ...page, ...cli.scope } }),
    )
  })
  examples(policy.command('validate <file>'), 'policy validate policy.json')
    .description('Check a document and run its tests\n\nExit code 1: the document has errors.')
    .action((file: string) => validate(cli, file))
  examples(
    asking(
      policy
        .command('simulate <file>')
        .description('Show the changes that a document would make\n\nIt publishes nothing.'),
    )
      .option('--target <target...>', 'targets to decide about, e.g. wiki, wiki:tcp/443 or 10.1.2.3:tcp/22')
      .action((file: string, options: Who & { target?: string[] }) => simulate(cli, file, options)),
    'policy simulate policy.json --user anna --target wiki:tcp/443',
  )
  examples(
    asking(
      policy
        .command('explain <target>')
        .description('Explain why a device or user reaches a target or not\n\nAdd --device or --user.'),
    )
      .addOption(
        choice('--channel <channel>', 'channel whose policy decides; default: that of the device', channels).conflicts(
          'document',
        ),
      )
      .option('--document <file>', 'file with the policy document that decides (JSON; - is stdin)')
      .action((target: string, options: Who & Judging) => explain(cli, target, options)),
    'policy explain wiki:tcp/443 --device anna-laptop',
    'policy explain wiki:tcp/443 --user anna --document policy.json',
  )
  addPolicyDraft(policy, cli)
  addPolicyReach(policy, cli)
  addPolicyRollout(policy, cli)
}

type Judging = { channel?: Bundle['channel']; document?: string }
type Who = { device?: string; user?: string; at?: string; sourceIp?: string; country?: string }

const asking = (command: Command): Command =>
  command
    .option('--device <device>', 'device that connects')
    .option('--user <user>', 'user that connects')
    .option('--at <time>', 'time of the decision; default: now', parseMoment)
    .option('--source-ip <address>', 'source IP address of the connection')
    .option('--country <code>', 'source country of the connection, e.g. DE')

const questionOf = (
  target: string,
  { device, user, at, sourceIp, country }: Who,
): Input<Contract['explainPolicy']>['body'] => ({
  target,
  ...given({ device_id: device, user_id: user, at, source_ip: sourceIp, country }),
})

type Publish = {
  channel: Bundle['channel']
  percent?: number
  group?: string[]
  note?: string
  allowFailingTests?: boolean
  supersede?: boolean
  overrideGate?: boolean
  gate?: 'hold' | 'rollback'
  observeMinutes?: number
  minDevices?: number
  maxRise?: number
}

const gateOf = ({ gate, observeMinutes, minDevices, maxRise }: Publish) => {
  if (gate === undefined) {
    if (observeMinutes !== undefined || minDevices !== undefined || maxRise !== undefined)
      throw new UsageError('These options belong to a gate: add --gate hold or --gate rollback.')
    return undefined
  }
  const rises = maxRise === undefined ? undefined : Object.fromEntries(canaryMeasures.map((m) => [m, maxRise]))
  return {
    on_failure: gate,
    ...given({ observe_minutes: observeMinutes, min_devices: minDevices, max_rise_percent: rises }),
  }
}

async function publish(cli: Cli, file: string, options: Publish): Promise<void> {
  const { channel, percent, group, note, allowFailingTests, supersede, overrideGate } = options
  const rollout = given({ percent, group_ids: group })
  const body = {
    channel,
    policy: await readDocument(cli, file),
    ...given({
      note,
      allow_failing_tests: allowFailingTests,
      supersede,
      override_gate: overrideGate,
      gate: gateOf(options),
      rollout: Object.keys(rollout).length === 0 ? undefined : rollout,
    }),
  }
  const bundle = await (await cli.client()).publishPolicy({ body, query: cli.scope })
  if (cli.json) return printItem(cli, bundle)
  cli.note(`Published version ${bundle.version} on ${bundle.channel}.`)
  for (const warning of bundle.warnings) cli.note(`Warning: ${plain(warning)}.`)
  printItem(cli, bundle)
}

async function validate(cli: Cli, file: string): Promise<void> {
  const policy = await readDocument(cli, file)
  const result = await (await cli.client()).validatePolicy({ body: { policy }, query: cli.scope })
  if (cli.json) printItem(cli, result)
  else {
    for (const { field, message } of result.errors) cli.say(`${plain(field)}: ${plain(message)}`)
    for (const warning of result.warnings) cli.say(`Warning: ${plain(warning)}.`)
    if (result.tests) for (const line of testLines(result.tests)) cli.say(line)
    cli.say(result.valid ? 'The document is valid.' : 'The document has errors.')
  }
  if (!result.valid) throw new Declined()
}

const testLines = ({ results, passed, failed }: Tests): string[] => [
  ...results
    .filter((test) => !test.passed)
    .flatMap(({ name, failures }) =>
      failures.map((f) => plain(`test "${name}": ${f.target}: expected ${f.expected}, got ${f.got}: ${f.reason}`)),
    ),
  `${passed} of ${passed + failed} tests pass.`,
]

async function simulate(cli: Cli, file: string, { target = [], ...who }: Who & { target?: string[] }): Promise<void> {
  const policy = await readDocument(cli, file)
  const questions = target.map((one) => questionOf(one, who))
  const result = await (await cli.client()).simulatePolicy({ body: { policy, questions }, query: cli.scope })
  if (cli.json) return printItem(cli, result)
  for (const { target: asked, before, after } of result.answers)
    cli.say(plain(`${asked}: ${before.decision} -> ${after.decision} (${after.reason})`))
  const { gains, loses, ...counts } = result.impact
  printItem(cli, counts)
  printParties(cli, { gains, loses })
  for (const line of testLines(result.tests)) cli.say(line)
}

async function explain(cli: Cli, target: string, who: Who & Judging): Promise<void> {
  if ((who.device === undefined) === (who.user === undefined)) throw new UsageError('Add either --device or --user.')
  const policy = who.document === undefined ? undefined : await readDocument(cli, who.document)
  const body = { ...questionOf(target, who), ...given({ channel: who.channel, policy }) }
  const result = await (await cli.client()).explainPolicy({ body, query: cli.scope })
  if (cli.json) return printItem(cli, result)
  cli.say(cli.strong(plain(`${result.decision}: ${result.reason}`)))
  // A server of an earlier version evaluates only the rules.
  for (const { kind, detail } of result.blocked_by ?? [])
    if (kind !== 'policy' || detail !== result.reason) cli.say(plain(`blocked by ${kind}: ${detail}`))
  const judge = result.channel === null ? 'the given document' : `channel ${result.channel}, version ${result.version}`
  cli.say(`${judge}, posture ${result.posture_verdict}`)
  for (const rule of result.rules) {
    cli.say(plain(`${rule.matched ? '+' : '-'} ${rule.rule_id} (${rule.action})`))
    for (const { property, expected, actual, passed } of rule.conditions)
      cli.say(
        plain(
          `    ${passed ? 'ok    ' : 'fails '} ${property}: expected ${jsonText(expected)}, is ${jsonText(actual)}`,
        ),
      )
  }
  for (const { rule_id, sentence } of result.would_allow) cli.say(plain(`would allow: ${rule_id} ${sentence}`))
  for (const check of result.posture.filter(({ passed }) => !passed))
    cli.say(plain(`posture check ${check.check_id} fails: ${check.reason_code}`))
}
