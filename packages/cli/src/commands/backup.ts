import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { offline, readLines } from '../deployment.ts'
import { write, writeNew } from '../files.ts'
import { examples } from '../options.ts'
import { type Column, printAll, printItem } from '../output.ts'
import { plain } from '../text.ts'

type MakeOptions = { recipient?: string[]; recipientsFile?: string }
type Table = { name: string; rows: number; bytes: number; sha256: string }
const columns: readonly Column<Table>[] = [
  ['TABLE', (t) => t.name],
  ['ROWS', (t) => t.rows],
  ['BYTES', (t) => t.bytes],
  ['SHA-256', (t) => t.sha256],
]
const several = (text: string, before: string[] = []): string[] => [...before, text]

export function addBackup(program: Command, cli: Cli): void {
  const backup = program
    .command('backup')
    .description(
      'Back up the database of this deployment\n\nRun it where the server runs, with the environment of the server.',
    )
  examples(
    backup
      .command('make <file>', { isDefault: true })
      .description('Write an encrypted backup\n\nOnly the recipients can decrypt it. The server may keep running.')
      .option('--recipient <age1…>', 'age recipient that can decrypt the backup; repeatable', several)
      .option('--recipients-file <file>', 'file with age recipients, one per line')
      .action((file: string, options: MakeOptions) => make(cli, file, options)),
    'backup make nightly.age --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p',
    'backup /mnt/backups/$(date +%F).age --recipients-file recipients.txt',
  )
  examples(
    backup
      .command('keygen')
      .description(
        'Create an identity that decrypts backups\n\nIt prints the recipient of the identity. It needs no server.',
      )
      .requiredOption('--out <file>', 'file for the identity (mode 0600)')
      .option('--post-quantum', 'create a post-quantum identity, which needs age 1.3 or newer')
      .action((options: { out: string; postQuantum?: true }) => keygen(cli, options)),
    'backup keygen --out backup.key',
  )
  examples(
    backup
      .command('verify <file>')
      .description('Verify a backup and list its contents\n\nIt reads the whole backup. It needs no database.')
      .requiredOption('--identity <file>', 'file with the identity of a recipient')
      .action(async (file: string, { identity }: { identity: string }) => {
        const identities = await readLines(identity)
        const { head, tables } = await offline(cli, ({ verify }) => verify(cli.env, file, identities))
        await printAll(cli, columns, tables)
        cli.note(`The backup is complete and unaltered. Taken at ${head.taken_at}, with ${head.tenants} tenants.`)
      }),
    'backup verify nightly.age --identity backup.key',
  )
}

async function make(cli: Cli, file: string, { recipient = [], recipientsFile }: MakeOptions): Promise<void> {
  const recipients = [...recipient, ...(recipientsFile === undefined ? [] : await readLines(recipientsFile))]
  const { head, written } = await offline(cli, ({ backUp }, told) => backUp(cli.env, file, recipients, told))
  const { taken_at, tenants, packages, master_keys } = head
  printItem(cli, { file, ...written, taken_at, tenants, packages: packages.count, master_keys })
  if (packages.count > 0)
    cli.note(
      `${packages.count} packages (${packages.bytes} bytes) are stored outside the database: back them up separately.`,
    )
  cli.note(
    'The backup does not contain the master key. Keep a copy of the key file elsewhere: without it the backup cannot be restored.',
  )
}

async function keygen(cli: Cli, { out, postQuantum }: { out: string; postQuantum?: true }): Promise<void> {
  const isPostQuantum = postQuantum === true
  const { identity, recipient } = await offline(cli, ({ makeIdentity }) => makeIdentity({ isPostQuantum }))
  await writeNew(out, '', 0o600)
  await write(out, `# recipient: ${recipient}\n${identity}\n`)
  printItem(cli, { recipient, identity_file: out })
  cli.note(
    `Anybody with ${plain(out)} can decrypt the backups: do not keep it on the server, which needs only the recipient.`,
  )
}
