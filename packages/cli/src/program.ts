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

const nouns = [
  addAuth,
  addSearch,
  addView,
  addAdminSession,
  addToken,
  addDevice,
  addUser,
  addTotp,
  addRole,
  addGroup,
  addDirectory,
  addPolicy,
  addProvider,
  addPool,
  addGateway,
  addSession,
  addTruth,
  addKey,
  addIncident,
  addLock,
  addWorkflow,
  addAudit,
  addSiem,
  addRetention,
  addLegalHold,
  addNotification,
  addExpiry,
  addOps,
  addConfig,
  addStatus,
  addWatch,
  addSettings,
  addTrust,
  addRelease,
  addUpdate,
  addSigner,
  addSpc,
  addTenant,
  addPlan,
  addLicense,
  addMasterKey,
  addBackup,
  addRestore,
  addEnroll,
]

const environmentHelp = `
Environment:
  HOLDFAST_URL      the server, in place of the saved one
  HOLDFAST_API_KEY  an API key, in place of the saved credential
  NO_COLOR          no bold headings

Names: wherever an id is asked for, a name does as well: of a tenant, plan, user, group, device, gateway, pool, token, key,
provider, connector or saved view; the number or channel of a policy, the version of a release, the device of a VPN session or
certificate, the user of an admin session, the target of a lock.

Exit codes: 0 done, 1 refused by the server, 2 wrong use, 3 not found: the server, or the thing named. Of config plan: 0
nothing differs, 2 something does, 1 the file cannot be applied or the command is wrong, 3 not found.`

/** Creates all commands with their context. */
export function createProgram(streams: Streams): { program: Command; cli: Cli } {
  const program = new AskingCommand('holdfast')
    .description('Administer a Holdfast control plane')
    .configureHelp(markingHelp)
    .version(version, '--version', 'the version of this program')
    .option('--json', 'print JSON instead of text; lists as one object a line')
    .option('--url <url>', 'the server, e.g. https://control.example')
    .option('--tenant <tenant>', 'act in this tenant (platform administrators)')
    .addHelpText('after', environmentHelp)
  const cli = createCli(program, streams)
  for (const add of nouns) add(program, cli)
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
