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
  ['DELETED AT', (t) => t.delete_after],
]

type Filter = { status?: Tenant['status']; plan?: string; q?: string }

export function addTenant(program: Command, cli: Cli): void {
  const tenant = program.command('tenant').description('tenants (companies) of a deployment, and their limits')
  examples(
    limit(tenant.command('list').description('list tenants'))
      .addOption(choice('--status <status>', 'only these', tenantStatuses))
      .option('--plan <plan>', 'that have this plan')
      .option('--q <prefix>', 'name starts with')
      .action(async ({ limit: most, plan, ...rest }: Filter & { limit: number }) => {
        const client = await cli.client()
        const query = { ...given({ ...rest, plan_id: plan }), ...cli.scope }
        await printList(cli, most, columns, (page) => client.listTenants({ query: { ...query, ...page } }))
      }),
    'tenant list --status suspended',
    'tenant list --plan team --q ac',
  )
  examples(tenant.command('show <tenant>'), 'tenant show acme')
    .description('one tenant')
    .action(async (tenant_id: string) =>
      printItem(cli, await (await cli.client()).getTenant({ params: { tenant_id }, query: cli.scope })),
    )
  examples(
    limiting(tenant.command('create <name>').description('create a tenant, whose people sign in as <name>/<username>'))
      .option('--display-name <name>')
      .option('--plan <plan>', 'its plan; default: none')
      .option('--admin <username>', 'its first administrator, whose temporary password is printed once')
      .option('--admin-email <address>', 'of the first administrator')
      .action((name: string, options: Create) => create(cli, name, options)),
    'tenant create acme --display-name "Acme Inc." --plan team --admin jane --admin-email jane@acme.example',
    'tenant create globex --limit users=50 devices=100',
  )
  examples(
    limiting(reason(tenant.command('update <tenant>').description('change a tenant; fields that are not given stay')))
      .option('--name <name>', 'new name; its users sign in with it from then on')
      .option('--display-name <name>')
      .option('--plan <plan>')
      .option('--no-plan', 'no plan')
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
    const note = `Tenant ${made.tenant_id}. This is the temporary password of ${whose}, who must change it at the first sign-in.`
    return printSecret(cli, first.secret, answer, note)
  }
  printItem(cli, made)
  const toDo = 'create an administrator with user create, user password and role grant, each with'
  cli.note(`Nobody can sign in to it yet: ${toDo} --tenant ${plain(made.name)}.`)
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
