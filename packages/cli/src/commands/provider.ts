import type { Contract, Output } from '@holdfast/contract'
import {
  type DeviceCodeUse,
  deviceCodeUses,
  identityProviderKinds,
  roleNames,
  samlPresets,
} from '@holdfast/contract/vocabulary'
import { changeIdentityProvider } from '@holdfast/sdk'
import { type Command, InvalidArgumentError } from 'commander'
import { type Cli, given } from '../cli.ts'
import { Declined, UsageError } from '../exit.ts'
import { choice, examples, integer, limit, reason } from '../options.ts'
import { type Column, printAll, printItem, printList } from '../output.ts'
import { plain } from '../text.ts'
import { refuseOther, type SamlOptions, samlOf, samlOptions } from './provider-saml.ts'

type Provider = Output<Contract['getIdentityProvider']>
const columns: readonly Column<Provider>[] = [
  ['PROVIDER', (p) => p.provider_id],
  ['NAME', (p) => p.name],
  ['KIND', (p) => p.kind],
  ['ISSUER', (p) => p.oidc?.issuer ?? p.saml?.found?.entity_id ?? '-'],
  ['ENABLED', (p) => p.enabled],
  ['SIGN-IN', (p) => p.sign_in],
  ['USERS', (p) => p.linked_users],
]
type Enroller = Output<Contract['listEnrollmentProviders']>['items'][number]
const enrollerColumns: readonly Column<Enroller>[] = [
  ['PROVIDER', (p) => p.provider_id],
  ['NAME', (p) => p.name],
  ['ISSUER', (p) => p.issuer],
  ['CLIENT IDS', (p) => p.client_ids.join(' ')],
  ['DEVICE CODE', (p) => p.device_code],
]
type Pair = { value: string; to: string }
type Settings = SamlOptions & {
  name?: string
  issuer?: string
  clientId?: string
  clientSecret?: boolean
  scope?: string[]
  usernameClaim?: string
  emailClaim?: string
  displayNameClaim?: string
  groupsClaim?: string
  provisioning?: Provider['provisioning']
  mapGroup?: Pair[]
  mapRole?: Pair[]
  signIn?: 'on' | 'off'
  enrollment?: 'on' | 'off'
  mobileClientId?: string[]
  deviceCode?: DeviceCodeUse
  requiresApproval?: 'on' | 'off'
  maxDevicesPerUser?: number
  enable?: boolean
  disable?: boolean
}

/** Parses a repeatable `value of the provider=value here`. */
function pair(text: string, before: Pair[] = []): Pair[] {
  const at = text.lastIndexOf('=')
  if (at < 1 || at === text.length - 1) throw new InvalidArgumentError('It must look like /engineering=engineers.')
  return [...before, { value: text.slice(0, at), to: text.slice(at + 1) }]
}

const settings = (command: Command): Command =>
  samlOptions(command)
    .option('--client-secret', 'read the client secret from a prompt or one line of stdin')
    .option('--scope <scope...>', 'requested scopes')
    .option('--username-claim <claim>', 'claim or attribute with the username')
    .option('--email-claim <claim>', 'claim or attribute with the e-mail address')
    .option('--display-name-claim <claim>', 'claim or attribute with the display name')
    .option('--groups-claim <claim>', 'claim or attribute with the groups')
    .addOption(
      choice(
        '--provisioning <how>',
        'action for a person without a linked user: refuse the sign-in (none), or create a user',
        ['none', 'create'],
      ),
    )
    .option('--map-group <value=group>', 'map a group of the provider to a group here; repeatable', pair)
    .option(
      '--map-role <value=role>',
      `map a group of the provider to a role here; repeatable; roles: ${roleNames.join(', ')}`,
      pair,
    )
    .addOption(choice('--sign-in <on|off>', 'whether administrators can sign in with it', ['on', 'off']))
    .addOption(choice('--enrollment <on|off>', 'whether people can enroll devices with it', ['on', 'off']))
    .option('--mobile-client-id <id...>', 'client ids of the apps that enroll devices')
    .addOption(choice('--device-code <use>', 'whether machines without a browser can enroll with it', deviceCodeUses))
    .addOption(
      choice('--requires-approval <on|off>', 'whether devices that enroll with it wait for approval', ['on', 'off']),
    )
    .option('--max-devices-per-user <n>', 'maximum number of devices for each person', integer(1, 10_000))

async function bodyOf(cli: Cli, options: Settings) {
  const { enable, disable, mapRole, mapGroup, signIn, enrollment, requiresApproval } = options
  if (enable && disable) throw new UsageError('Use either --enable or --disable.')
  const unknown = mapRole?.find(({ to }) => !roleNames.some((role) => role === to))
  if (unknown) throw new UsageError(`There is no role ${plain(unknown.to)}. The roles are: ${roleNames.join(', ')}.`)
  return {
    ...given({
      name: options.name,
      enabled: enable ? true : disable ? false : undefined,
      provisioning: options.provisioning,
      sign_in: signIn && signIn === 'on',
      enrollment: enrollment && enrollment === 'on',
      requires_approval: requiresApproval && requiresApproval === 'on',
      max_devices_per_user: options.maxDevicesPerUser,
      group_mappings: mapGroup?.map(({ value, to }) => ({ value, group_id: to })),
      role_mappings: mapRole?.map(({ value, to }) => ({ value, role: roleNames.find((role) => role === to)! })),
    }),
    oidc: given({
      issuer: options.issuer,
      client_id: options.clientId,
      scopes: options.scope,
      mobile_client_ids: options.mobileClientId,
      device_code: options.deviceCode,
      client_secret: options.clientSecret ? await cli.prompt.newSecret('Client secret') : undefined,
    }),
    saml: await samlOf(options),
  }
}
const claimsOf = (options: Settings) =>
  given({
    username: options.usernameClaim,
    email: options.emailClaim,
    display_name: options.displayNameClaim,
    groups: options.groupsClaim,
  })

export function addProvider(program: Command, cli: Cli): void {
  const provider = program.command('provider').description('Manage identity providers')
  limit(examples(provider.command('list'), 'provider list').description('List identity providers')).action(
    async ({ limit: most }: { limit: number }) => {
      const client = await cli.client()
      await printList(cli, most, columns, (page) => client.listIdentityProviders({ query: { ...page, ...cli.scope } }))
    },
  )
  addEnrollers(provider, cli)
  examples(
    settings(provider.command('create <name>'))
      .description('Add an identity provider\n\nIt prints the values to register at the provider.')
      .addOption(choice('--kind <kind>', 'kind of provider', identityProviderKinds).makeOptionMandatory())
      .option('--issuer <url>', 'issuer, exactly as the provider writes it; not for kind saml')
      .option('--client-id <id>', 'client id of this deployment at the provider; not for kind saml')
      .addOption(choice('--preset <product>', 'saml: product whose attribute names apply', samlPresets))
      .option('--disable', 'create the provider disabled; the server does not contact it')
      .action(
        async (name: string, options: Settings & { kind: Provider['kind']; preset?: (typeof samlPresets)[number] }) => {
          const { oidc, saml, ...rest } = await bodyOf(cli, options)
          const { kind, issuer, clientId: client_id, preset } = options
          refuseOther(kind, { oidc, saml: { ...saml, ...given({ preset }) } })
          const common = { ...rest, claims: claimsOf(options), name, kind }
          const client = await cli.client()
          if (kind === 'saml') {
            const body = { ...common, saml: { ...saml, ...given({ preset }) } }
            return printItem(cli, await client.createIdentityProvider({ body, query: cli.scope }))
          }
          if (issuer === undefined || client_id === undefined)
            throw new UsageError(`A provider of kind ${kind} needs --issuer and --client-id.`)
          const body = { ...common, oidc: { ...oidc, issuer, client_id } }
          return printItem(cli, await client.createIdentityProvider({ body, query: cli.scope }))
        },
      ),
    'provider create Keycloak --kind keycloak --issuer https://login.example/realms/people --client-id holdfast --client-secret < secret.txt',
    'provider create Entra --kind saml --preset entra_id --metadata-url https://login.microsoftonline.com/acme.example/federationmetadata/2007-06/federationmetadata.xml',
    'provider create Keycloak --kind saml --preset keycloak --disable --metadata-url https://login.example/realms/people/protocol/saml/descriptor',
  )
  examples(provider.command('show <provider>'), 'provider show Keycloak')
    .description('Show an identity provider')
    .action(async (provider_id: string) =>
      printItem(cli, await (await cli.client()).getIdentityProvider({ params: { provider_id }, query: cli.scope })),
    )
  examples(
    settings(provider.command('update <provider>'))
      .description('Change an identity provider\n\nOptions that you leave out do not change.')
      .option('--name <name>', 'new name')
      .option('--issuer <url>', 'new issuer; account links to the old issuer no longer count')
      .option('--client-id <id>', 'client id of this deployment at the provider; not for kind saml')
      .option('--enable', 'enable the provider')
      .option('--disable', 'disable the provider, and end the sessions that it opened')
      .option(
        '--end-links-of-stronger',
        'remove the links of people with permissions that you do not have; without it, the server refuses such a change',
      )
      .action((provider_id: string, options: Settings & Ending) => update(cli, provider_id, options)),
    'provider update Keycloak --provisioning create --map-group /engineering=engineers --map-role /auditors=auditor',
    'provider update Keycloak --disable',
  )
  examples(provider.command('test <provider>'), 'provider test Keycloak')
    .description(
      'Test an identity provider\n\nThe server reads its discovery document and keys, or its metadata, again. Exit code 1: the provider cannot be used.',
    )
    .action(async (provider_id: string) => {
      const found = await (await cli.client()).testIdentityProvider({ params: { provider_id }, query: cli.scope })
      printItem(cli, found)
      if (!found.ok) throw new Declined()
    })
  examples(
    provider
      .command('delete <provider>')
      .description('Delete an identity provider and its account links\n\nThe sessions that it opened end.')
      .option('--yes', 'skip the confirmation prompt')
      .action(async (provider_id: string, { yes }: { yes?: boolean }) => {
        await cli.sure(yes, `Delete ${provider_id}?`)
        const client = await cli.client()
        const { changed } = await client.deleteIdentityProvider({ params: { provider_id }, query: cli.scope })
        if (cli.json) printItem(cli, { provider_id, changed })
        else cli.say(`${provider_id}  deleted${changed ? '' : '  (unchanged)'}`)
      }),
    'provider delete Keycloak --yes',
  )
}

/** Adds commands to `holdfast provider`. */
function addEnrollers(provider: Command, cli: Cli): void {
  examples(provider.command('enrolling'), 'provider enrolling')
    .description(
      'List identity providers for device enrollment\n\nIt shows the providers as the device client sees them.',
    )
    .action(async () => {
      const { items } = await (await cli.client()).listEnrollmentProviders({ query: cli.scope })
      await printAll(cli, enrollerColumns, items)
    })
}

type Ending = { endLinksOfStronger?: boolean }
async function update(cli: Cli, provider_id: string, options: Settings & Ending): Promise<void> {
  const { oidc, saml, ...rest } = await bodyOf(cli, options)
  const claims = claimsOf(options)
  if (Object.keys({ ...rest, ...oidc, ...saml, ...claims }).length === 0)
    throw new UsageError('Nothing to change; see: holdfast provider update --help')
  const client = await cli.client()
  const of = { params: { provider_id }, query: cli.scope }
  const before = await client.getIdentityProvider(of)
  refuseOther(before.kind, { oidc, saml })
  const named = { ...rest, oidc, saml, claims: { ...before.claims, ...claims } }
  const ending = options.endLinksOfStronger ? { end_links_of_stronger: true } : {}
  printItem(cli, await changeIdentityProvider(client, { ...of, query: { ...cli.scope, ...ending } }, named))
}

type Link = Output<Contract['listUserIdentities']>['items'][number]
const linkColumns: readonly Column<Link>[] = [
  ['PROVIDER', (l) => l.provider_name],
  ['ISSUER', (l) => l.issuer],
  ['SUBJECT', (l) => l.subject],
  ['LINKED', (l) => l.linked_at],
  ['LAST SIGN-IN', (l) => l.last_login_at],
]
/** Adds commands to `holdfast user`. */
export function addUserLinks(user: Command, cli: Cli): void {
  examples(user.command('links <user>'), 'user links jane')
    .description('List the provider accounts with which a user signs in')
    .action(async (user_id: string) => {
      const { items } = await (await cli.client()).listUserIdentities({ params: { user_id }, query: cli.scope })
      await printAll(cli, linkColumns, items)
    })
  const linking = (command: Command) =>
    reason(
      command
        .requiredOption('--provider <provider>', 'identity provider')
        .requiredOption('--subject <sub>', 'id of the account at the provider'),
    )
  type Options = { provider: string; subject: string; reason?: string }
  const asked = (user_id: string, { provider: provider_id, subject, reason: why }: Options) => ({
    params: { user_id },
    body: { provider_id, subject, ...given({ reason: why }) },
    query: cli.scope,
  })
  examples(linking(user.command('link <user>')), 'user link jane --provider Keycloak --subject 248289761001')
    .description('Let a user sign in with an account of a provider')
    .action(async (user_id: string, options: Options) => {
      const { identity, changed } = await (await cli.client()).linkUserIdentity(asked(user_id, options))
      if (!changed) cli.note('No change.')
      printItem(cli, identity)
    })
  examples(linking(user.command('unlink <user>')), 'user unlink jane --provider Keycloak --subject 248289761001')
    .description('Remove the link to an account of a provider\n\nThe sessions that the link opened end.')
    .action(async (user_id: string, options: Options) => {
      const { changed } = await (await cli.client()).unlinkUserIdentity(asked(user_id, options))
      cli.note(changed ? 'The link was removed.' : 'There was no such link.')
    })
}
