import type { Contract, Output } from '@holdfast/contract'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { duration, examples, reason } from '../options.ts'
import { printItem } from '../output.ts'
import { plain } from '../text.ts'

type Tenant = Output<Contract['getTenant']>
type Sure = { reason?: string; yes?: boolean }
const keep = 'devices and gateways keep their policies and certificates until these expire'

/** Adds commands to `holdfast tenant`: suspension and deletion. */
export function addTenantMoves(tenant: Command, cli: Cli): void {
  examples(
    reason(tenant.command('suspend <tenant>').description(`Suspend a tenant\n\nIts users cannot sign in; ${keep}.`))
      .option('--yes', 'skip the confirmation prompt')
      .action(async (tenant_id: string, { yes, reason: why }: Sure) => {
        await cli.sure(yes, `Suspend ${tenant_id}? Its users cannot sign in then; ${keep}.`)
        printItem(cli, await move(cli, 'suspend', tenant_id, { reason: why }))
      }),
    'tenant suspend acme --reason "has not paid" --yes',
  )
  examples(reason(tenant.command('reactivate <tenant>')), 'tenant reactivate acme')
    .description('Reactivate a suspended tenant')
    .action(async (tenant_id: string, options: { reason?: string }) =>
      printItem(cli, await move(cli, 'reactivate', tenant_id, options)),
    )
  examples(
    reason(
      tenant
        .command('delete <tenant>')
        .description(
          'Delete a tenant after a delay\n\nThe tenant is suspended at once. All its data is deleted after the delay.',
        ),
    )
      .option('--delay <duration>', 'delay from 1h to 90d; default: 7d', duration)
      .option('--yes', 'skip the confirmation prompt')
      .action(async (tenant_id: string, { yes, delay, reason: why }: Sure & { delay?: number }) => {
        const all = 'after the delay all its users, devices, policies and keys are deleted for good'
        await cli.sure(yes, `Delete ${tenant_id}? Its users cannot sign in then, and ${all}.`)
        const gone = await move(cli, 'delete', tenant_id, { reason: why, delay_seconds: delay })
        printItem(cli, gone)
        const back = `holdfast tenant cancel-deletion ${plain(gone.name)}`
        cli.note(`The tenant is deleted at ${gone.delete_after}. Until then you can cancel it with: ${back}`)
      }),
    'tenant delete acme --delay 30d --reason "the contract ended"',
  )
  examples(reason(tenant.command('cancel-deletion <tenant>')), 'tenant cancel-deletion acme')
    .description('Cancel the deletion of a tenant')
    .action(async (tenant_id: string, options: { reason?: string }) =>
      printItem(cli, await move(cli, 'cancel_deletion', tenant_id, options)),
    )
}

type Move = 'suspend' | 'reactivate' | 'delete' | 'cancel_deletion'
type With = { reason?: string | undefined; delay_seconds?: number | undefined }

async function move(cli: Cli, operation: Move, tenant_id: string, options: With): Promise<Tenant> {
  const body = { operation, tenant_id, ...given(options) }
  const { changed, tenant } = await (await cli.client()).changeTenant({ body, query: cli.scope })
  if (!changed) cli.note('No change.')
  return tenant
}
