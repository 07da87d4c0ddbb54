import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { platforms } from '@holdfast/contract/enrollment-fields'
import { type DeviceArchitecture, deviceArchitectures } from '@holdfast/contract/vocabulary'
import {
  ApiError,
  beginDeviceCodeEnrollment,
  beginOidcEnrollment,
  beginSamlEnrollment,
  type Device,
  type DevicePolicy,
  enrollDevice,
  fileStore,
  openDevice,
} from '@holdfast/sdk'
import { type Command, Option } from 'commander'
import { type Cli, given, warnOfPlainHttp } from '../cli.ts'
import { readConfig } from '../config-file.ts'
import { NotFoundError, UsageError } from '../exit.ts'
import { signInByBrowser } from '../oidc-sign-in.ts'
import { choice, examples } from '../options.ts'
import { printItem } from '../output.ts'
import { signInBySaml } from '../saml-sign-in.ts'
import { jsonText, plain } from '../text.ts'

type Platform = (typeof platforms)[number]
const ownPlatform: Partial<Record<NodeJS.Platform, Platform>> = {
  linux: 'linux',
  darwin: 'macos',
  win32: 'windows',
  android: 'android',
}

export function addEnroll(program: Command, cli: Cli): void {
  examples(
    ofDevice(
      program
        .command('enroll')
        .description(
          'Enroll as a device with a token\n\nThe token is read from a prompt or stdin. The state of the device is saved in a file.',
        ),
    ).action((options: Options) => enroll(cli, options)),
    'token create | holdfast enroll --state device.json',
    'device-poll --state device.json',
  )
  examples(
    program
      .command('device-poll')
      .description(
        'Fetch the policy as an enrolled device\n\nIt fetches and verifies the policy of the device in the state file, and again after each change.',
      )
      .requiredOption('--state <file>', 'state file written by enroll')
      .option('--once', 'fetch and print the policy once, then exit')
      .action((options: { state: string; once?: boolean }) => poll(cli, options)),
    'device-poll --state device.json --once --json',
  )
}

/** `device enroll`: enrolls by a token or an identity provider. */
export function addDeviceEnroll(device: Command, cli: Cli): void {
  examples(
    ofDevice(
      device
        .command('enroll')
        .description('Enroll as a device with a token or a sign-in\n\nThe sign-in is at an identity provider.'),
    )
      .option('--oidc', 'sign in at an OpenID Connect provider with your browser; a bootstrap token is enough')
      .option('--saml', 'sign in at a SAML provider with your browser; a bootstrap token is enough')
      .option('--device-code', 'for a machine without a browser: a person approves it at the identity provider')
      .option('--provider <provider>', 'identity provider (name or id), if there are several')
      .action(({ oidc, saml, deviceCode, provider, ...options }: Options & ByProvider) => {
        const ways = [oidc, saml, deviceCode].filter(Boolean).length
        if (ways > 1) throw new UsageError('Use only one of --oidc, --saml and --device-code.')
        if (provider !== undefined && ways === 0)
          throw new UsageError('--provider needs --oidc, --saml or --device-code.')
        if (saml) return enrollBySaml(cli, options, provider)
        if (deviceCode) return enrollByDeviceCode(cli, options, provider)
        return oidc ? enrollByOidc(cli, options, provider) : enroll(cli, options)
      }),
    'device enroll --oidc --state device.json',
    'device enroll --device-code --state device.json',
    'token create --kind bootstrap | holdfast device enroll --oidc --provider staff --state device.json',
    'device enroll --saml --state device.json',
  )
}

type Options = { state: string; name: string; platform: Platform; arch?: DeviceArchitecture }
type ByProvider = { oidc?: boolean; saml?: boolean; deviceCode?: boolean; provider?: string }
const ofDevice = (command: Command): Command =>
  command
    .requiredOption('--state <file>', 'file for the state of the device and its private key (mode 0600)')
    .addOption(new Option('--name <name>', 'name of the device').default(hostname(), 'name of this machine'))
    .addOption(
      choice('--platform <platform>', 'platform of the device', platforms).default(
        ownPlatform[process.platform] ?? 'other',
        'platform of this machine',
      ),
    )
    .addOption(
      choice('--arch <arch>', 'architecture of the device; it selects the packages of a release', deviceArchitectures),
    )

const deviceOf = ({ name, platform, arch }: Options) => ({ name, platform, ...given({ arch }) })

/** Returns the server's address and the store for the device's state. */
async function prepare(cli: Cli, state: string) {
  const baseUrl = cli.url ?? (cli.env.HOLDFAST_URL || (await readConfig(cli.env)).url)
  if (baseUrl === undefined) throw new UsageError('Which server? Add --url or set HOLDFAST_URL.')
  warnOfPlainHttp(cli, baseUrl)
  const store = fileStore(state)
  if (await store.load()) throw new UsageError(`${state} already contains the state of a device. Name another file.`)
  return { baseUrl, store }
}

async function enroll(cli: Cli, options: Options): Promise<void> {
  const where = await prepare(cli, options.state)
  const token = await cli.prompt.secret('Enrollment token')
  say(cli, await enrollDevice({ ...where, token, device: deviceOf(options) }))
}

async function enrollByOidc(cli: Cli, options: Options, wanted: string | undefined): Promise<void> {
  const where = await prepare(cli, options.state)
  const credential = await cli.prompt.secret('Enrollment or bootstrap token')
  const begun = await beginOidcEnrollment({ ...where, credential })
  const usable = begun.providers.filter((p) => p.client_ids.length > 0)
  const { provider_id, issuer, scopes, client_ids } = chosen(usable, wanted)
  const asked = { issuer, scopes, clientId: client_ids[0] ?? '', nonce: begun.nonce }
  const signedIn = await signInByBrowser(asked, begun.expiresAt, (url) => {
    cli.note(`Open this address in a browser and sign in:\n${url}`)
  })
  say(cli, await saidWhere(cli, begun.finish({ ...signedIn, provider_id, device: deviceOf(options) })))
}

async function enrollByDeviceCode(cli: Cli, options: Options, wanted: string | undefined): Promise<void> {
  const where = await prepare(cli, options.state)
  const credential = await cli.prompt.secret('Enrollment or bootstrap token')
  const begun = await beginDeviceCodeEnrollment({ ...where, credential })
  const { provider_id } = chosen(
    begun.providers.filter((p) => p.device_code),
    wanted,
  )
  const approval = await saidWhere(cli, begun.begin(provider_id))
  const { userCode, verificationUri, verificationUriComplete, expiresAt, finish } = approval
  cli.note(
    `Open this address on any machine, sign in and enter the code ${plain(userCode)}:\n${plain(verificationUri)}`,
  )
  if (verificationUriComplete !== null)
    cli.note(`Or open this one, and compare the code:\n${plain(verificationUriComplete)}`)
  cli.note('Approve it only if you started this yourself: the user of this machine will act in your name.')
  const onWait = () => {
    const minutes = Math.ceil((expiresAt.getTime() - Date.now()) / 60_000)
    cli.note(`Waiting for approval, ${minutes} min at most…`)
  }
  say(cli, await saidWhere(cli, finish({ device: deviceOf(options), onWait })))
}

/** All failures at an identity provider are the same 401. Prints the command that shows the reason. */
async function saidWhere<T>(cli: Cli, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (e) {
    const isUnproved = e instanceof ApiError && e.status === 401
    if (isUnproved)
      cli.note('Administrators find the reason with: holdfast audit list --kind device.enrollment_refused')
    throw e
  }
}

async function enrollBySaml(cli: Cli, options: Options, wanted: string | undefined): Promise<void> {
  const where = await prepare(cli, options.state)
  const credential = await cli.prompt.secret('Enrollment or bootstrap token')
  const { providers, begin } = await beginSamlEnrollment({ ...where, credential })
  const { provider_id } = chosen(providers, wanted)
  const { response, finish } = await signInBySaml(
    (redirectUri) => begin({ provider_id, redirectUri }),
    (url) => cli.note(`Open this address in a browser and sign in:\n${url}`),
  )
  say(cli, await saidWhere(cli, finish({ saml_response: response, device: deviceOf(options) })))
}

type Enroller = { provider_id: string; name: string }
function chosen<P extends Enroller>(usable: readonly P[], wanted: string | undefined): P {
  const [provider, other] = usable.filter((p) => [undefined, p.name, p.provider_id].includes(wanted))
  if (provider && !other) return provider
  if (wanted !== undefined && !provider)
    throw new NotFoundError(
      `No identity provider called ${wanted} enrolls devices this way${usable.length > 0 ? `; these do: ${usable.map((p) => p.name).join(', ')}` : ''}.`,
    )
  const names = usable.map((p) => plain(p.name)).join(', ')
  throw new UsageError(
    names ? `Choose one with --provider: ${names}.` : 'No identity provider enrolls devices this way.',
  )
}

function say(cli: Cli, device: Device): void {
  const { deviceId, tenantId, expiresAt } = device.state
  printItem(cli, { device_id: deviceId, tenant_id: tenantId, credential_expires_at: expiresAt })
}

async function poll(cli: Cli, { state, once }: { state: string; once?: boolean }): Promise<void> {
  const store = fileStore(state)
  const saved = await store.load()
  if (!saved) throw new UsageError(`${state} does not exist. Run holdfast enroll first.`)
  const device = openDevice(saved, { store })
  if (once) return apply(cli, device, await device.fetchBundle())
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)
  try {
    await device.runPolling({
      signal: stop.signal,
      onPolicy: (policy) =>
        policy ? apply(cli, device, policy) : cli.note('The policy has expired; nothing is allowed.'),
      onStatus: ({ status }) => cli.note(`The device is ${status}.`),
      onError: (error) =>
        cli.note(`Error, polling continues: ${plain(error instanceof Error ? error.message : String(error))}`),
    })
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
}

/** Prints the policy, which is all that this device does with it, and reports it as applied, as an agent would. */
async function apply(cli: Cli, device: Device, policy: DevicePolicy): Promise<void> {
  printPolicy(cli, policy)
  const event = {
    event_id: randomUUID(),
    kind: 'policy_applied',
    at: new Date().toISOString(),
    policy_digest: policy.digest,
  } as const
  await device.reportTelemetry([event]).catch((e: unknown) => {
    cli.note(`The report of the applied policy failed: ${plain(e instanceof Error ? e.message : String(e))}`)
  })
}

function printPolicy(cli: Cli, { digest, channel, version, expiresAt, content }: DevicePolicy): void {
  const policy = { digest, channel, version, expires_at: expiresAt.toISOString() }
  if (cli.json) {
    cli.say(jsonText({ ...policy, content }))
    return
  }
  printItem(cli, policy)
  for (const { id, action, to, ports } of content.rules)
    cli.say(plain(`  ${action} ${to.join(', ')}${ports ? ` ${ports.join(' ')}` : ''} (${id})`))
}
