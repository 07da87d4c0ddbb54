import type { Contract, Output } from '@holdfast/contract'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { duration, examples, reason } from '../options.ts'
import { printItem } from '../output.ts'
import { plain } from '../text.ts'

type Tenant = Output<Contract['getTenant']>
type Sure = { reason?: string; yes?: boolean }
const keep = 'devices and gateways keep what they have until that ends'

/** Adds commands to `holdfast tenant`: suspension and deletion. */
export function addTenantMoves(tenant: Command, cli: Cli): void {
  examples(
    reason(tenant.command('suspend <tenant>').description(`shut a tenant out: nobody of it signs in, ${keep}`))
      .option('--yes', 'do not ask')
      .action(async (tenant_id: string, { yes, reason: why }: Sure) => {
        await cli.sure(yes, `Suspend ${tenant_id}? Nobody of it signs in then; ${keep}.`)
        printItem(cli, await move(cli, 'suspend', tenant_id, { reason: why }))
      }),
    'tenant suspend acme --reason "has not paid" --yes',
  )
  examples(reason(tenant.command('reactivate <tenant>')), 'tenant reactivate acme')
    .description('let a suspended tenant in again')
    .action(async (tenant_id: string, options: { reason?: string }) =>
      printItem(cli, await move(cli, 'reactivate', tenant_id, options)),
    )
  examples(
    reason(tenant.command('delete <tenant>').description('shut a tenant out, and delete all of it after a delay'))
      .option('--delay <duration>', '7d unless said; from 1h to 90d', duration)
      .option('--yes', 'do not ask')
      .action(async (tenant_id: string, { yes, delay, reason: why }: Sure & { delay?: number }) => {
        const all = 'after the delay all of it is deleted for good: users, devices, policies, keys'
        await cli.sure(yes, `Delete ${tenant_id}? Nobody of it signs in then, and ${all}.`)
        const gone = await move(cli, 'delete', tenant_id, { reason: why, delay_seconds: delay })
        printItem(cli, gone)
        const back = `holdfast tenant cancel-deletion ${plain(gone.name)}`
        cli.note(`It is deleted at ${gone.delete_after}. Until then it can be taken back with: ${back}`)
      }),
    'tenant delete acme --delay 30d --reason "the contract ended"',
  )
  examples(reason(tenant.command('cancel-deletion <tenant>')), 'tenant cancel-deletion acme')
    .description('take back that a tenant is to be deleted')
    .action(async (tenant_id: string, options: { reason?: string }) =>
      printItem(cli, await move(cli, 'cancel_deletion', tenant_id, options)),
    )
}

type Move = 'suspend' | 'reactivate' | 'delete' | 'cancel_deletion'
type With = { reason?: string | undefined; delay_seconds?: number | undefined }

async function move(cli: Cli, operation: Move, tenant_id: string, options: With): Promise<Tenant> {
  const body = { operation, tenant_id, ...given(options) }
  const { changed, tenant } = await (await cli.client()).changeTenant({ body, query: cli.scope })
  if (!changed) cli.note('It was so before.')
  return tenant
}
