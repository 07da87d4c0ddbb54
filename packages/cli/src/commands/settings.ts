import { type Contract, contract, type Input, type Output } from '@holdfast/contract'
import { changeEnrollmentSettings, changeNotificationSettings, changeSecuritySettings } from '@holdfast/sdk'
import type { Command } from 'commander'
import { describeFields, parseAssignments } from '../assignments.ts'
import type { Cli } from '../cli.ts'
import { Declined } from '../exit.ts'
import { examples } from '../options.ts'
import { type Column, printAll, printItem, printSecret, tableLines } from '../output.ts'

type Named<T> = { [K in keyof T]?: Partial<T[K]> }
type SecurityChange = Named<Input<Contract['updateSecuritySettings']>['body']>
type EnrollmentChange = Named<Input<Contract['updateEnrollmentSettings']>['body']>
type NotificationChange = Named<Input<Contract['updateNotificationSettings']>['body']>
type Tried = Output<Contract['testNotificationSettings']>['results'][number]
const triedColumns: readonly Column<Tried>[] = [
  ['CHANNEL', (r) => r.channel],
  ['RECIPIENT', (r) => r.recipient],
  ['SENT', (r) => (r.ok ? 'yes' : 'no')],
  ['ERROR', (r) => r.error],
]

export function addSettings(program: Command, cli: Cli): void {
  const settings = program.command('settings').description('Manage settings of the tenant')
  addSecurity(settings, cli)
  addEnrollment(settings, cli)
  addNotifications(settings, cli)
}

const assigning = (command: Command, body: object): Command =>
  command
    .argument(
      '<section.field=value...>',
      'value of a setting; separate the values of a list with commas; no value empties a setting',
    )
    .addHelpText(
      'after',
      `\nFields:\n${tableLines(describeFields(body))
        .map((line) => `  ${line}`)
        .join('\n')}`,
    )

function addSecurity(settings: Command, cli: Cli): void {
  const security = settings
    .command('security')
    .description(
      'Manage security settings\n\nThey cover sign-in, sessions, passwords, second factors, rates and devices.',
    )
  examples(
    security
      .command('show', { isDefault: true })
      .description('Show the security settings in force')
      .action(async () => printItem(cli, await (await cli.client()).getSecuritySettings({ query: cli.scope }))),
    'settings security show',
    'settings security show --json | jq .mfa',
  )
  const { body } = contract.updateSecuritySettings
  examples(
    assigning(
      security.command('set').description('Change security settings\n\nSettings that you do not name do not change.'),
      body,
    ).action(async (texts: string[]) => {
      const named = parseAssignments<SecurityChange>(body, texts)
      const scope = { query: cli.scope }
      printItem(cli, await changeSecuritySettings(await cli.client(), named, scope))
    }),
    'settings security set sessions.idle_seconds=900 mfa.step_up=true',
    'settings security set mfa.required_roles=platform_admin,tenant_admin',
    'settings security set mfa.required_roles=',
  )
}

function addEnrollment(settings: Command, cli: Cli): void {
  const enrollment = settings.command('enrollment').description('Manage install lines and download URLs of the client')
  examples(
    enrollment
      .command('show', { isDefault: true })
      .description('Show the enrollment settings and install lines')
      .action(async () => printItem(cli, await (await cli.client()).getEnrollmentSettings({ query: cli.scope }))),
    'settings enrollment show',
  )
  const { body } = contract.updateEnrollmentSettings
  examples(
    assigning(
      enrollment
        .command('set')
        .description('Change enrollment settings\n\nSettings that you do not name do not change.'),
      body,
    ).action(async (texts: string[]) => {
      const named = parseAssignments<EnrollmentChange>(body, texts)
      printItem(cli, await changeEnrollmentSettings(await cli.client(), named, { query: cli.scope }))
    }),
    "settings enrollment set 'install_templates.linux=acme-vpn enroll {server} --token {token}'",
    'settings enrollment set download_urls.macos=https://downloads.example.com/client.pkg',
    'settings enrollment set install_templates.linux=',
  )
}

function addNotifications(settings: Command, cli: Cli): void {
  const notifications = settings.command('notifications').description('Manage the destinations of notifications')
  examples(
    notifications
      .command('show', { isDefault: true })
      .description('Show the notification settings in force')
      .action(async () => printItem(cli, await (await cli.client()).getNotificationSettings({ query: cli.scope }))),
    'settings notifications show',
  )
  const { body } = contract.updateNotificationSettings
  examples(
    assigning(
      notifications
        .command('set')
        .description(
          'Change notification settings\n\nSettings that you do not name do not change. A new signing secret of the webhook is printed once.',
        ),
      body,
    ).action(async (texts: string[]) => {
      const named = parseAssignments<NotificationChange>(body, texts)
      const answer = await changeNotificationSettings(await cli.client(), named, { query: cli.scope })
      if (answer.secret === null) printItem(cli, cli.json ? answer : answer.settings)
      else printSecret(cli, answer.secret, answer, 'Changed. This is the signing secret of the webhook.')
    }),
    'settings notifications set email.enabled=true email.recipients=security@example.com,ops@example.com',
    'settings notifications set webhook.url=https://hooks.example.com/holdfast webhook.enabled=true',
    'settings notifications set webhook.rotate_secret=true > secret.txt',
  )
  examples(
    notifications
      .command('test')
      .description(
        'Send a test message to every destination\n\nIt uses every channel that has a destination, enabled or not.',
      )
      .action(async () => {
        const { results } = await (await cli.client()).testNotificationSettings({ query: cli.scope })
        if (results.length === 0) return cli.note('No channel has a destination.')
        await printAll(cli, triedColumns, results)
        if (results.some(({ ok }) => !ok)) throw new Declined()
      }),
    'settings notifications test',
  )
}
