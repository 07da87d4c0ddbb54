import type { Contract, Output } from '@holdfast/contract'
import { revocationReasons } from '@holdfast/contract/vocabulary'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { Declined } from '../exit.ts'
import { readText } from '../files.ts'
import { choice, examples, limit } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'
import { addSpcIssue } from './spc-issue.ts'

type Spc = Output<Contract['listSpcs']>['items'][number]
type Filter = { limit: number; device?: string; status?: Spc['status'] }
type Revoke = { reason?: (typeof revocationReasons)[number]; yes?: boolean }
const columns: readonly Column<Spc>[] = [
  ['SPC', (s) => s.spc_id],
  ['DEVICE', (s) => s.device_id],
  ['STATUS', (s) => s.status],
  ['ISSUED', (s) => s.issued_at],
  ['EXPIRES', (s) => s.not_after],
]

export function addSpc(program: Command, cli: Cli): void {
  const spc = program
    .command('spc')
    .description('Manage device certificates (SPC)\n\nSPC: Security Policy Certificate.')
  limit(
    examples(
      spc.command('list').description('List device certificates, newest first'),
      'spc list --device laptop --status active',
    ),
  )
    .option('--device <device>', 'only certificates of this device')
    .addOption(
      choice('--status <status>', 'only certificates with this status', ['active', 'superseded', 'revoked', 'expired']),
    )
    .action(async ({ limit: most, device, status }: Filter) => {
      const client = await cli.client()
      const query = { ...given({ device_id: device, status }), ...cli.scope }
      await printList(cli, most, columns, (page) => client.listSpcs({ query: { ...query, ...page } }))
    })
  examples(
    spc.command('show <spc>').description('Show a device certificate'),
    'spc show spc_01h455vb4pex5vsknk084sn02q',
  ).action(async (spc_id: string) =>
    printItem(cli, await (await cli.client()).getSpc({ params: { spc_id }, query: cli.scope })),
  )
  addSpcIssue(spc, cli)
  examples(
    spc.command('revoke <spc>').description('Revoke a device certificate for good'),
    'spc revoke spc_01h455vb4pex5vsknk084sn02q --reason keyCompromise',
  )
    .addOption(choice('--reason <reason>', 'reason (RFC 5280); default: unspecified', revocationReasons))
    .option('--yes', 'skip the confirmation prompt')
    .action(async (spc_id: string, { reason, yes }: Revoke) => {
      await cli.sure(yes, `Revoke ${spc_id}? This cannot be undone.`)
      const answer = await (await cli.client()).revokeSpc({ body: { spc_id, ...given({ reason }) }, query: cli.scope })
      if (!answer.changed) cli.note('It was already revoked.')
      printItem(cli, cli.json ? answer : answer.spc)
    })
  examples(
    spc
      .command('validate <file>')
      .description(
        'Check whether a device certificate is valid\n\nThe file is in PEM. Exit code 1: the certificate is not valid.',
      )
      .option('--at <time>', 'time at which the validity period is checked (RFC 3339)'),
    'spc validate laptop.pem',
    'spc validate laptop.pem --at 2030-01-01T00:00:00Z',
  ).action((file: string, { at }: { at?: string }) => validate(cli, file, at))
}

async function validate(cli: Cli, file: string, at: string | undefined): Promise<void> {
  const body = { certificate: firstOf(await readText(file)), ...given({ at }) }
  const verdict = await (await cli.client()).validateSpc({ body, query: cli.scope })
  printItem(cli, verdict)
  if (!verdict.valid) throw new Declined()
}

/** Returns the first certificate of a file, which is the device's in a chain, as in TLS. */
const firstOf = (text: string): string =>
  /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/.exec(text)?.[0] ?? text
