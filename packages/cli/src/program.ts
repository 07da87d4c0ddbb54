import type { Command, CommanderError } from 'commander'
import { adviceOn } from './advice.ts'
import { type Cli, createCli, type Streams } from './cli.ts'
import { AskingCommand, markingHelp } from './command-terms.ts'
import { addAdminSession } from './commands/admin-session.ts'
import { addAudit } from './commands/audit.ts'
import { addAuth } from './commands/auth.ts'
import { addBackup } from './commands/backup.ts'
import { addConfig } from './commands/config.ts'
import { addDevice } from './commands/device.ts'
import { addDirectory } from './commands/directory.ts'
import { addEnroll } from './commands/enroll.ts'
import { addExpiry } from './commands/expiry.ts'
import { addGateway } from './commands/gateway.ts'
import { addGroup } from './commands/group.ts'
import { addIncident } from './commands/incident.ts'
import { addKey } from './commands/key.ts'
import { addLegalHold } from './commands/legal-hold.ts'
import { addLicense } from './commands/license.ts'
import { addLock } from './commands/lock.ts'
import { addMasterKey } from './commands/master-key.ts'
import { addNotification } from './commands/notification.ts'
import { addOps } from './commands/ops.ts'
import { addPlan } from './commands/plan.ts'
import { addPolicy } from './commands/policy.ts'
import { addPool } from './commands/pool.ts'
import { addProvider } from './commands/provider.ts'
import { addRelease } from './commands/release.ts'
import { addRestore } from './commands/restore.ts'
import { addRetention } from './commands/retention.ts'
import { addRole } from './commands/role.ts'
import { addSearch } from './commands/search.ts'
import { addSession } from './commands/session.ts'
import { addSettings } from './commands/settings.ts'
import { addSiem } from './commands/siem.ts'
import { addSigner } from './commands/signer.ts'
import { addSpc } from './commands/spc.ts'
import { addStatus } from './commands/status.ts'
import { addTenant } from './commands/tenant.ts'
import { addToken } from './commands/token.ts'
import { addTotp } from './commands/totp.ts'
import { addTrust } from './commands/trust.ts'
import { addTruth } from './commands/truth.ts'
import { addUpdate } from './commands/update.ts'
import { addUser } from './commands/user.ts'
import { addView } from './commands/view.ts'
import { addWatch } from './commands/watch.ts'
import { addWorkflow } from './commands/workflow.ts'
import { Declined, explainError } from './exit.ts'
import { version } from './version.ts'

/** The commands in the groups of the help and of the reference pages. */
const groups: Readonly<Record<string, readonly ((program: Command, cli: Cli) => void)[]>> = {
  'Sign-in and overview': [addAuth, addStatus, addSearch, addWatch, addView],
  People: [addUser, addGroup, addRole, addTotp, addAdminSession, addKey, addProvider, addDirectory],
  Devices: [addDevice, addToken, addEnroll, addSpc, addRelease, addUpdate],
  Policy: [addPolicy],
  Gateways: [addPool, addGateway, addSession, addTruth],
  'Audit and incidents': [addAudit, addSiem, addLock, addIncident, addWorkflow, addRetention, addLegalHold],
  Administration: [addSettings, addConfig, addNotification, addExpiry, addOps, addTrust, addSigner],
  Deployment: [addTenant, addPlan, addLicense, addMasterKey, addBackup, addRestore],
}

const environmentHelp = `
Environment:
  HOLDFAST_URL      URL of the server, instead of the saved one
  HOLDFAST_API_KEY  API key, instead of the saved credential
  NO_COLOR          no bold headings

Names:
  A command that takes an id also takes a name: of a tenant, plan, user, group, device, gateway, pool, token, key,
  provider, connector or saved view. Other objects have no name of their own:
    policy                       its version or channel
    release                      its version
    VPN session, certificate     the name of its device
    admin session                the name of its user
    lock                         the name of its target

Exit codes:
  0  success
  1  refused by the server, or the checked object is not in order
  2  wrong use of the command
  3  not found: the server, or the named object
  config plan: 0 no differences, 2 differences, 1 the file cannot be applied or the command is wrong, 3 not found`

/** Creates all commands with their context. */
export function createProgram(streams: Streams): { program: Command; cli: Cli } {
  const program = new AskingCommand('holdfast')
    .description('Administer a Holdfast control plane')
    .configureHelp(markingHelp)
    .version(version, '--version', 'version of this program')
    .option('--json', 'JSON instead of text; lists have one object per line')
    .option('--url <url>', 'URL of the server, e.g. https://vpn.example.com')
    .option('--tenant <tenant>', 'tenant to work in (for platform administrators)')
    .addHelpText('after', environmentHelp)
  const cli = createCli(program, streams)
  for (const [heading, adders] of Object.entries(groups)) {
    program.commandsGroup(`${heading}:`)
    for (const add of adders) add(program, cli)
  }
  prepare(program, streams)
  return { program, cli }
}

/** Runs one command line (without node and script) and returns its exit code. */
export async function runCli(args: readonly string[], streams: Streams): Promise<number> {
  const { program, cli } = createProgram(streams)
  let running: Command | undefined
  program.hook('preAction', (_, command) => {
    running = command
  })
  try {
    await program.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    const { code, lines } = explainError(error, running)
    for (const line of lines) cli.note(line)
    for (const hint of [...adviceOn(error, cli.spoke), ...cli.hints]) cli.note(hint)
    return code
  }
}

/** Makes every command, nested ones too, throw instead of exiting the process, and write to the given streams. */
function prepare(command: Command, streams: Streams): void {
  // Exit code 2 means a difference for this command, so wrong use must have another one.
  const isPlan = pathOf(command) === 'holdfast config plan'
  const declined = (e: CommanderError) => {
    throw e.exitCode === 0 ? e : new Declined()
  }
  command.exitOverride(isPlan ? declined : undefined).configureOutput({
    writeOut: (text) => void streams.output.write(text),
    writeErr: (text) => void streams.errors.write(text),
  })
  command.showHelpAfterError(`(see: ${pathOf(command)} --help)`)
  for (const child of command.commands) prepare(child, streams)
}

const pathOf = (command: Command): string =>
  command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()
