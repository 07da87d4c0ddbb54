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
  ['CLIENTS', (p) => p.client_ids.join(' ')],
  ['DEVICE-CODE', (p) => p.device_code],
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
    .option('--client-secret', 'asked for, or read from stdin')
    .option('--scope <scope...>', 'what is asked of the provider')
    .option('--username-claim <claim>', 'the claim or attribute that names somebody')
    .option('--email-claim <claim>', 'likewise for the mail address')
    .option('--display-name-claim <claim>', 'likewise for the name that is shown')
    .option('--groups-claim <claim>', 'the claim or attribute that lists groups')
    .addOption(choice('--provisioning <how>', 'whether somebody whom nobody linked gets a user', ['none', 'create']))
    .option('--map-group <value=group>', 'a group of the provider, and the one that it means here', pair)
    .option('--map-role <value=role>', `likewise for a role (${roleNames.join(', ')})`, pair)
    .addOption(choice('--sign-in <on|off>', 'whether administrators sign in with it', ['on', 'off']))
    .addOption(choice('--enrollment <on|off>', 'whether people enroll devices with it', ['on', 'off']))
    .option('--mobile-client-id <id...>', 'under which the provider knows the applications that enroll')
    .addOption(choice('--device-code <use>', 'whether machines without a browser enroll with it', deviceCodeUses))
    .addOption(choice('--requires-approval <on|off>', 'whether such devices wait for approval', ['on', 'off']))
    .option('--max-devices-per-user <n>', 'how many devices somebody may have who enrolls one', integer(1, 10_000))

async function bodyOf(cli: Cli, options: Settings) {
  const { enable, disable, mapRole, mapGroup, signIn, enrollment, requiresApproval } = options
  if (enable && disable) throw new UsageError('Either --enable or --disable.')
  const unknown = mapRole?.find(({ to }) => !roleNames.some((role) => role === to))
  if (unknown) throw new UsageError(`There is no role ${plain(unknown.to)}; take one of ${roleNames.join(', ')}.`)
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
  const provider = program.command('provider').description('identity providers, with which people sign in')
  limit(examples(provider.command('list'), 'provider list').description('list identity providers')).action(
    async ({ limit: most }: { limit: number }) => {
      const client = await cli.client()
      await printList(cli, most, columns, (page) => client.listIdentityProviders({ query: { ...page, ...cli.scope } }))
    },
  )
  addEnrollers(provider, cli)
  examples(
    settings(provider.command('create <name>'))
      .description('add an identity provider; prints what to register with it')
      .addOption(choice('--kind <kind>', 'of which make', identityProviderKinds).makeOptionMandatory())
      .option('--issuer <url>', 'as the provider itself writes it; all kinds but saml')
      .option('--client-id <id>', 'under which the provider knows this deployment; all kinds but saml')
      .addOption(choice('--preset <product>', 'saml: whose names of attributes are taken', samlPresets))
      .option('--disable', 'prepare it; nothing is asked of the provider yet')
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
    'provider create Entra --kind saml --preset entra_id --metadata-url https://login.microsoftonline.com/…/federationmetadata.xml',
    'provider create Keycloak --kind saml --preset keycloak --disable --metadata-url https://login.example/realms/people/protocol/saml/descriptor',
  )
  examples(provider.command('show <provider>'), 'provider show Keycloak')
    .description('one identity provider')
    .action(async (provider_id: string) =>
      printItem(cli, await (await cli.client()).getIdentityProvider({ params: { provider_id }, query: cli.scope })),
    )
  examples(
    settings(provider.command('update <provider>'))
      .description('change an identity provider; what is not named stays')
      .option('--name <name>')
      .option('--issuer <url>', 'links of accounts at the old one count no more')
      .option('--client-id <id>')
      .option('--enable', 'people may use it')
      .option('--disable', 'nobody may use it, and the sessions that it opened end')
      .option(
        '--end-links-of-stronger',
        'end the links of people who may do more than you; without it such a change is refused',
      )
      .action((provider_id: string, options: Settings & Ending) => update(cli, provider_id, options)),
    'provider update Keycloak --provisioning create --map-group /engineering=engineers --map-role /auditors=auditor',
    'provider update Keycloak --disable',
  )
  examples(provider.command('test <provider>'), 'provider test Keycloak')
    .description('read its discovery and keys, or its metadata, anew; exit code 1: it can not be used')
    .action(async (provider_id: string) => {
      const found = await (await cli.client()).testIdentityProvider({ params: { provider_id }, query: cli.scope })
      printItem(cli, found)
      if (!found.ok) throw new Declined()
    })
  examples(
    provider
      .command('delete <provider>')
      .description('delete an identity provider with its links; the sessions that it opened end')
      .option('--yes', 'do not ask')
      .action(async (provider_id: string, { yes }: { yes?: boolean }) => {
        await cli.sure(yes, `Delete ${provider_id}?`)
        const client = await cli.client()
        const { changed } = await client.deleteIdentityProvider({ params: { provider_id }, query: cli.scope })
        if (cli.json) printItem(cli, { provider_id, changed })
        else cli.say(`${provider_id}  deleted${changed ? '' : '  (as before)'}`)
      }),
    'provider delete Keycloak --yes',
  )
}

/** Adds commands to `holdfast provider`. */
function addEnrollers(provider: Command, cli: Cli): void {
  examples(provider.command('enrolling'), 'provider enrolling')
    .description('by which devices enroll now, as an application is told')
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
    .description('with which accounts of identity providers a user signs in')
    .action(async (user_id: string) => {
      const { items } = await (await cli.client()).listUserIdentities({ params: { user_id }, query: cli.scope })
      await printAll(cli, linkColumns, items)
    })
  const linking = (command: Command) =>
    reason(
      command
        .requiredOption('--provider <provider>', 'the identity provider')
        .requiredOption('--subject <sub>', 'what it calls the account'),
    )
  type Options = { provider: string; subject: string; reason?: string }
  const asked = (user_id: string, { provider: provider_id, subject, reason: why }: Options) => ({
    params: { user_id },
    body: { provider_id, subject, ...given({ reason: why }) },
    query: cli.scope,
  })
  examples(linking(user.command('link <user>')), 'user link jane --provider Keycloak --subject 248289761001')
    .description('let a user sign in with an account of an identity provider')
    .action(async (user_id: string, options: Options) => {
      const { identity, changed } = await (await cli.client()).linkUserIdentity(asked(user_id, options))
      if (!changed) cli.note('It was so before.')
      printItem(cli, identity)
    })
  examples(linking(user.command('unlink <user>')), 'user unlink jane --provider Keycloak --subject 248289761001')
    .description('end such a link, and the sessions that came by it')
    .action(async (user_id: string, options: Options) => {
      const { changed } = await (await cli.client()).unlinkUserIdentity(asked(user_id, options))
      cli.note(changed ? 'The link has ended.' : 'There was no such link.')
    })
}
