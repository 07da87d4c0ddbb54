import type { Contract, Output } from '@holdfast/contract'
import { signerProviders, signerPurposes, signerStates } from '@holdfast/contract/vocabulary'
import { Argument, type Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { choice, examples, limit, reason } from '../options.ts'
import { type Column, printItem, printList } from '../output.ts'

type Signer = Output<Contract['getSigner']>
type Filter = { limit: number; purpose?: Signer['purpose']; state?: Signer['state'] }
type Create = { provider?: Signer['provider'] }
type Retire = { reason?: string; compromised?: boolean; force?: boolean; yes?: boolean }
const columns: readonly Column<Signer>[] = [
  ['SIGNER', (s) => s.signer_id],
  ['PURPOSE', (s) => s.purpose],
  ['STATE', (s) => s.state],
  ['ALG', (s) => s.alg],
  ['KEY STORAGE', (s) => s.provider],
  ['RETIRES AFTER', (s) => s.retire_after],
]

export function addSigner(program: Command, cli: Cli): void {
  const signer = program.command('signer').description('Manage signing keys and certification authorities')
  limit(
    examples(
      signer.command('list').description('List signing keys'),
      'signer list',
      'signer list --purpose policy --state active',
    ),
  )
    .addOption(choice('--purpose <purpose>', 'only keys with this purpose', signerPurposes))
    .addOption(choice('--state <state>', 'only keys in this state', signerStates))
    .action(async ({ limit: most, purpose, state }: Filter) => {
      const client = await cli.client()
      const query = { ...given({ purpose, state }), ...cli.scope }
      await printList(cli, most, columns, (page) => client.listSigners({ query: { ...query, ...page } }))
    })
  examples(
    signer.command('show <signer>').description('Show a signing key'),
    'signer show sgn_01h455vb4pex5vsknk084sn02q',
  ).action(async (signer_id: string) =>
    printItem(cli, await (await cli.client()).getSigner({ params: { signer_id }, query: cli.scope })),
  )
  examples(
    signer
      .command('create')
      .addArgument(new Argument('<purpose>', 'purpose of the key').choices(signingPurposes))
      .description(
        'Create the successor of an active signing key\n\nThe new key is published at once. It signs only after its activation.',
      )
      .addOption(choice('--provider <provider>', 'storage of the private key', signerProviders)),
    'signer create policy',
    'signer create trust-set --provider pkcs11',
  ).action(async (purpose: string, { provider }: Create) => {
    const body = { purpose: purpose as Signer['purpose'], ...given({ provider }) }
    const made = await (await cli.client()).createSigner({ body, query: cli.scope })
    printItem(cli, made)
    cli.note(`The key signs nothing yet. Activate it with: holdfast signer activate ${made.signer_id}`)
  })
  reason(
    examples(
      signer.command('activate <signer>').description('Activate a signing key\n\nThe key signs from now on.'),
      'signer activate sgn_01h455vb4pex5vsknk084sn02q --reason "yearly change"',
    ),
  ).action(async (signer_id: string, options: { reason?: string }) => {
    const body = given({ reason: options.reason })
    printChange(cli, await (await cli.client()).activateSigner({ params: { signer_id }, body, query: cli.scope }))
  })
  reason(
    examples(
      signer.command('retire <signer>').description('Retire a signing key and destroy its private key'),
      'signer retire sgn_01h455vb4pex5vsknk084sn02q',
      'signer retire sgn_01h455vb4pex5vsknk084sn02q --compromised --reason "laptop stolen"',
    ),
  )
    .option('--compromised', 'the private key may be stolen: all its signatures become invalid at once')
    .option('--force', 'retire the key even if devices or gateways still need it')
    .option('--yes', 'skip the confirmation prompt')
    .action((signer_id: string, options: Retire) => retire(cli, signer_id, options))
}

/** `trust rotate` creates authorities. */
const signingPurposes = signerPurposes.filter((purpose) => !purpose.startsWith('ca-'))

async function retire(cli: Cli, signer_id: string, { compromised, force, reason, yes }: Retire): Promise<void> {
  const ends = compromised
    ? `Retire ${signer_id} as compromised? All its signatures become invalid.`
    : `Retire ${signer_id} and destroy its private key?`
  await cli.sure(
    yes,
    force ? `${ends} Devices and gateways that still need it fail until they have a newer trust set.` : ends,
  )
  const body = given({ compromised, force, reason })
  printChange(cli, await (await cli.client()).retireSigner({ params: { signer_id }, body, query: cli.scope }))
}

function printChange(cli: Cli, answer: Output<Contract['retireSigner']>): void {
  if (!answer.changed) cli.note('No change.')
  printItem(cli, cli.json ? answer : answer.signer)
}
