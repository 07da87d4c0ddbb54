import type { Contract, Output } from '@holdfast/contract'
import { createKeyAndRequest } from '@holdfast/crypto/x509/certificate-request-write'
import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { readText, withNewFiles, write } from '../files.ts'
import { examples } from '../options.ts'
import { printItem } from '../output.ts'
import { plain } from '../text.ts'

type Issued = Output<Contract['issueSpc']>
type Files = { csr?: string; newKey?: string; out?: string }

const withFiles = (command: Command): Command =>
  command
    .option('--csr <file>', 'file with a certificate request (PKCS #10), e.g. of `openssl req -new`')
    .option('--new-key <file>', 'output file for a new private key (PEM, mode 0600), instead of --csr; must not exist')
    .option('--out <file>', 'output file for the certificate and its chain (PEM); must not exist; default: stdout')

export function addSpcIssue(spc: Command, cli: Cli): void {
  withFiles(
    examples(
      spc.command('issue <device>').description('Issue a certificate for a key of a device'),
      'spc issue laptop --csr laptop.csr --out laptop.pem',
      'spc issue laptop --new-key laptop.key --out laptop.pem',
    ),
  ).action((device_id: string, files: Files) =>
    issue(cli, files, async (csr) => (await cli.client()).issueSpc({ body: { csr, device_id }, query: cli.scope })),
  )
  withFiles(
    examples(
      spc
        .command('rotate <spc>')
        .description('Replace a certificate by one for another key\n\nThe old certificate stays valid for an hour.'),
      'spc rotate spc_01h455vb4pex5vsknk084sn02q --new-key laptop-2.key --out laptop-2.pem',
    ),
  ).action((spc_id: string, files: Files) =>
    issue(cli, files, async (csr) => (await cli.client()).rotateSpc({ body: { csr, spc_id }, query: cli.scope })),
  )
}

/** Creates the files before the request, so that the issued certificate can be stored. */
async function issue(cli: Cli, files: Files, ask: (csr: string) => Promise<Issued>): Promise<void> {
  const { newKey, out } = files
  const issued = await withNewFiles([newKey, out], async () => ask(await requestOf(files)))
  const { spc, certificate, chain } = issued
  const pem = [certificate, ...chain].join('')
  if (out !== undefined) await write(out, pem)
  if (cli.json) printItem(cli, issued)
  else if (out === undefined) cli.say(pem.trimEnd())
  cli.note(`${spc.spc_id} of ${spc.device_id}, valid until ${spc.not_after}.`)
  if (out !== undefined) cli.note(`The certificate and its chain are in ${plain(out)}.`)
  if (newKey !== undefined) cli.note(`Its private key is in ${plain(newKey)}, and nowhere else.`)
}

/** The key is on disk before a certificate is issued for it. */
async function requestOf({ csr, newKey }: Files): Promise<string> {
  if (csr !== undefined && newKey === undefined) return readText(csr)
  if (newKey === undefined || csr !== undefined)
    throw new UsageError('Add a certificate request with --csr, or create a key with --new-key.')
  const made = await createKeyAndRequest('holdfast')
  await write(newKey, made.privateKey)
  return made.csr
}
