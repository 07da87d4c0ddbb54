import type { Contract, Output } from '@holdfast/contract'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, examples, limit } from '../options.ts'
import { type Column, printList } from '../output.ts'

type Health = Output<Contract['gatewayHealth']>['items'][number]
const healthColumns: readonly Column<Health>[] = [
  ['GATEWAY', (g) => g.name],
  ['POOL', (g) => g.pool_name],
  ['STATUS', (g) => g.status],
  ['HEARTBEAT AGE (S)', (g) => g.heartbeat_age_seconds],
  ['SESSIONS', (g) => g.active_sessions],
  ['POLICY SEQ', (g) => g.policy.applied_seq],
  ['CLOCK OFFSET (MS)', (g) => g.clock_offset_ms],
  ['PROBLEMS', (g) => g.problems.map((p) => p.code).join(' ')],
]
export const gatewayStatuses = ['healthy', 'degraded', 'draining', 'down', 'never_seen', 'pending'] as const

type Affected = Output<Contract['gatewayImpact']>['items'][number]
const impactColumns: readonly Column<Affected>[] = [
  ['DEVICE', (d) => d.device_name ?? d.device_id],
  ['OUTCOME', (d) => d.outcome],
  ['SESSION', (d) => d.session_id],
  ['LAST SEEN', (d) => d.last_seen_at],
  ['MOVED TO', (d) => d.moved_to?.gateway_name ?? d.moved_to?.gateway_id ?? null],
]
const outcomes = ['on_it', 'moved', 'stuck', 'left'] as const

export function addGatewayHealth(gateway: Command, cli: Cli): void {
  examples(
    limit(gateway.command('health').description('Show the state and the problems of gateways'))
      .option('--pool <pool>', 'only gateways of this pool')
      .addOption(choice('--status <status>', 'only gateways with this status', gatewayStatuses))
      .action(async (options: { limit: number; pool?: string; status?: Health['status'] }) => {
        const client = await cli.client()
        const query = { ...given({ pool_id: options.pool, status: options.status }), ...cli.scope }
        await printList(cli, options.limit, healthColumns, (page) =>
          client.gatewayHealth({ query: { ...query, ...page } }),
        )
      }),
    'gateway health --status down',
  )
  examples(
    limit(
      gateway
        .command('impact <gateway>')
        .description(
          'Show where the devices of a gateway are connected now\n\nIt lists devices on the gateway, devices that moved to another one, and devices without a connection.',
        ),
    )
      .addOption(choice('--outcome <outcome>', 'only devices with this outcome', outcomes))
      .option('--since <time>', 'only devices that were on the gateway at this time or later')
      .action(
        async (
          gateway_id: string,
          options: { limit: number; outcome?: Affected['outcome']; since?: string },
        ): Promise<void> => {
          const client = await cli.client()
          const query = { ...given({ outcome: options.outcome, since: options.since }), ...cli.scope }
          await printList(cli, options.limit, impactColumns, async (page) => {
            const found = await client.gatewayImpact({ params: { gateway_id }, query: { ...query, ...page } })
            const { counts, since } = found
            if (counts)
              cli.note(
                `Since ${since}: ${counts.on_it} on the gateway, ${counts.moved} moved, ${counts.stuck} stuck, ${counts.left} left.`,
              )
            return found
          })
        },
      ),
    'gateway impact gw1 --outcome stuck',
  )
}
