import type { Contract, Output } from '@holdfast/contract'
import type { Limits } from '@holdfast/contract/entitlement-limits'
import { tenantStatuses } from '@holdfast/contract/vocabulary'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { limiting } from '../limits.ts'
import { choice, examples, limit, reason } from '../options.ts'
import { type Column, printItem, printList, printSecret } from '../output.ts'
import { plain } from '../text.ts'
import { addTenantMoves } from './tenant-moves.ts'
import { addTenantUsage } from './tenant-usage.ts'

type Tenant = Output<Contract['getTenant']>
const columns: readonly Column<Tenant>[] = [
  ['TENANT', (t) => t.tenant_id],
  ['NAME', (t) => t.name],
  ['DISPLAY NAME', (t) => t.display_name],
  ['STATUS', (t) => t.status],
  ['PLAN', (t) => t.plan],
  ['CREATED', (t) => t.created_at],
  ['DELETE AFTER', (t) => t.delete_after],
]

type Filter = { status?: Tenant['status']; plan?: string; q?: string }

export function addTenant(program: Command, cli: Cli): void {
  const tenant = program.command('tenant').description('Manage tenants and their limits\n\nA tenant is a company.')
  examples(
    limit(tenant.command('list').description('List tenants'))
      .addOption(choice('--status <status>', 'only tenants with this status', tenantStatuses))
      .option('--plan <plan>', 'only tenants with this plan')
      .option('--q <prefix>', 'only names that begin with this text')
      .action(async ({ limit: most, plan, ...rest }: Filter & { limit: number }) => {
        const client = await cli.client()
        const query = { ...given({ ...rest, plan_id: plan }), ...cli.scope }
        await printList(cli, most, columns, (page) => client.listTenants({ query: { ...query, ...page } }))
      }),
    'tenant list --status suspended',
    'tenant list --plan team --q ac',
  )
  examples(tenant.command('show <tenant>'), 'tenant show acme')
    .description('Show a tenant')
    .action(async (tenant_id: string) =>
      printItem(cli, await (await cli.client()).getTenant({ params: { tenant_id }, query: cli.scope })),
    )
  examples(
    limiting(tenant.command('create <name>').description('Create a tenant\n\nIts users sign in as <name>/<username>.'))
      .option('--display-name <name>', 'display name of the tenant')
      .option('--plan <plan>', 'plan of the tenant; default: none')
      .option('--admin <username>', 'username of the first administrator; a temporary password is printed once')
      .option('--admin-email <address>', 'e-mail address of the first administrator')
      .action((name: string, options: Create) => create(cli, name, options)),
    'tenant create acme --display-name "Acme Inc." --plan team --admin jane --admin-email jane@acme.example',
    'tenant create globex --limit users=50 devices=100',
  )
  examples(
    limiting(
      reason(
        tenant.command('update <tenant>').description('Change a tenant\n\nOptions that you leave out do not change.'),
      ),
    )
      .option('--name <name>', 'new name; users sign in with it from then on')
      .option('--display-name <name>', 'display name of the tenant')
      .option('--plan <plan>', 'new plan of the tenant')
      .option('--no-plan', 'remove the plan')
      .action((tenant_id: string, options: Update) => update(cli, tenant_id, options)),
    'tenant update acme --plan enterprise --limit users=200 devices=',
    'tenant update acme --no-plan',
  )
  addTenantMoves(tenant, cli)
  addTenantUsage(tenant, cli)
}

type Create = { displayName?: string; plan?: string; limit?: Limits; admin?: string; adminEmail?: string }

async function create(cli: Cli, name: string, options: Create): Promise<void> {
  const { displayName, plan, limit: limits, admin, adminEmail } = options
  if (adminEmail !== undefined && admin === undefined) throw new UsageError('--admin-email needs --admin.')
  const tenant = { name, ...given({ display_name: displayName, plan_id: plan, limits }) }
  const administrator = admin === undefined ? undefined : { username: admin, ...given({ email: adminEmail }) }
  const body = { operation: 'create', tenant, ...given({ administrator }) } as const
  const answer = await (await cli.client()).changeTenant({ body, query: cli.scope })
  const { tenant: made, administrator: first } = answer
  if (first?.secret) {
    const whose = plain(`${made.name}/${first.username}`)
    const note = `Tenant ${made.tenant_id}. This is the temporary password of ${whose}. It must be changed at the first sign-in.`
    return printSecret(cli, first.secret, answer, note)
  }
  printItem(cli, made)
  const toDo = 'create an administrator with user create, user password and role grant, each with'
  cli.note(`Nobody can sign in to the tenant yet: ${toDo} --tenant ${plain(made.name)}.`)
}

type Update = {
  name?: string
  displayName?: string
  plan?: string | false
  limit?: Limits
  reason?: string
}

async function update(cli: Cli, tenant_id: string, options: Update): Promise<void> {
  const { name, displayName, plan, limit: limits, reason: why } = options
  const plan_id = plan === false ? null : plan
  const fields = given({ name, display_name: displayName, plan_id, limits })
  if (Object.keys(fields).length === 0) throw new UsageError('Nothing to change; see: holdfast tenant update --help')
  const body = { operation: 'update', tenant_id, tenant: fields, ...given({ reason: why }) } as const
  const answer = await (await cli.client()).changeTenant({ body, query: cli.scope })
  if (!answer.changed) cli.note('No change.')
  printItem(cli, answer.tenant)
}
