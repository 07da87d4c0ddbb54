import type { Contract, Output } from '@holdfast/contract'
import { notificationKinds, notificationSeverities } from '@holdfast/contract/vocabulary'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, examples, limit } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'

type Notification = Output<Contract['listNotifications']>['items'][number]
const columns: readonly Column<Notification>[] = [
  ['NOTIFICATION', (n) => n.notification_id],
  ['TIME', (n) => n.created_at],
  ['SEVERITY', (n) => n.severity],
  ['KIND', (n) => n.kind],
  ['TITLE', (n) => n.title],
  ['STATE', (n) => n.state],
  ['SENT', (n) => sentOf(n)],
]
type Filter = { state?: 'open' | 'acknowledged' | 'all' } & Partial<Pick<Notification, 'kind' | 'severity'>>

/** `1/2`: accepted by one of two receivers. Failed deliveries are added. */
function sentOf({ deliveries }: Notification): string | null {
  if (deliveries.length === 0) return null
  const count = (state: string) => deliveries.filter((d) => d.state === state).length
  return `${count('delivered')}/${deliveries.length}${count('failed') > 0 ? `, ${count('failed')} failed` : ''}`
}

export function addNotification(program: Command, cli: Cli): void {
  const notification = program.command('notification').description('Manage notifications for administrators')
  examples(
    limit(notification.command('list').description('List notifications, newest first'))
      .addOption(
        choice('--state <state>', 'only notifications in this state; default: open', ['open', 'acknowledged', 'all']),
      )
      .addOption(choice('--kind <kind>', 'only notifications of this kind', notificationKinds))
      .addOption(choice('--severity <severity>', 'only notifications of this severity', notificationSeverities))
      .action(async ({ limit: most, ...filter }: Filter & { limit: number }) => {
        const client = await cli.client()
        const query = { ...given(filter), ...cli.scope }
        await printList(cli, most, columns, (page) => client.listNotifications({ query: { ...query, ...page } }))
      }),
    'notification list --severity critical',
  )
  examples(
    notification.command('acknowledge <notification_id>'),
    'notification acknowledge ntf_01jxz3c9dqf7vr2m8k4s6t0b5w',
  )
    .description('Acknowledge a notification\n\nThis removes it from the inbox.')
    .action(async (notification_id: string) => {
      const client = await cli.client()
      const answer = await client.acknowledgeNotification({ params: { notification_id }, query: cli.scope })
      if (!answer.changed) cli.note('It was already acknowledged.')
      printItem(cli, answer.notification)
    })
}
