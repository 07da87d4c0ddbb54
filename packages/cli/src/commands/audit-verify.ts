import { openTrust, readTrustSet, VerificationError } from '@holdfast/sdk'
import type { Command } from 'commander'
import { adviceOn } from '../advice.ts'
import { BadRecord } from '../audit/bad-record.ts'
import { bringCheckpoint, type Known, type Trusted, trustedBy } from '../audit/keys.ts'
import { bytesOfFile, linesOfFile } from '../audit/lines.ts'
import { asNoVerdict } from '../audit/no-verdict.ts'
import { verifyExport } from '../audit/verify-export.ts'
import { readManifest, verifyFile } from '../audit/verify-file.ts'
import { verifyServer } from '../audit/verify-server.ts'
import type { Cli } from '../cli.ts'
import { Declined, UsageError } from '../exit.ts'
import { readText, replace } from '../files.ts'
import { examples } from '../options.ts'
import { printItem } from '../output.ts'
import { patiently } from '../patient.ts'

type Options = { server?: boolean; checkpoint?: string; keep?: string; trustSet?: string; manifest?: string }
const saidEvery = 100_000

export function addAuditVerify(audit: Command, cli: Cli): void {
  examples(
    audit
      .command('verify [file]')
      .description(
        'Verify that audit events are unaltered\n\nName the file of an export (NDJSON, also gzip). Or verify the whole audit log with --server.',
      )
      .option('--server', 'verify the audit log on the server')
      .option('--trust-set <file>', 'file with the trusted keys, written by "holdfast trust show --json"')
      .option('--checkpoint <file>', 'checkpoint of an earlier verification; the audit log must extend it')
      .option('--keep <file>', 'file for the newest checkpoint, written after a successful verification')
      .option('--manifest <file>', 'manifest of a CSV or syslog export; the file must match it byte for byte')
      .action((file: string | undefined, options: Options) => verify(cli, file, options)),
    'audit verify events.ndjson --trust-set trust-set.json',
    'audit verify last-quarter.csv --manifest last-quarter.csv.manifest.json --trust-set trust-set.json',
    'audit verify --server --keep checkpoint.txt',
    'audit verify --server --checkpoint checkpoint.txt --keep checkpoint.txt --trust-set trust-set.json',
  )
}

async function verify(cli: Cli, file: string | undefined, options: Options): Promise<void> {
  if ((file === undefined) === (options.server !== true)) throw new UsageError('Name a file, or use --server.')
  if (options.keep !== undefined && file !== undefined) throw new UsageError('--keep needs --server.')
  if (file !== undefined && options.trustSet === undefined && options.checkpoint === undefined)
    throw new UsageError('No trusted keys and no checkpoint: add --trust-set, --checkpoint or both.')
  if (options.manifest !== undefined) return verifyBeside(cli, file, options.manifest, options)
  try {
    const { verdict, newest } = await (file === undefined ? ofServer(cli, options) : ofFile(cli, file, options))
    if (options.keep !== undefined && newest) await replace(options.keep, newest.note)
    if (options.keep !== undefined && !newest)
      cli.note('No checkpoint was written: none is signed by a key of the trust set.')
    for (const line of remarks(verdict)) cli.note(line)
    printItem(cli, { verified: true, ...verdict })
  } catch (e) {
    for (const line of adviceOn(e, cli.spoke)) cli.hint(line)
    const bad = asNoVerdict(e)
    if (!(bad instanceof BadRecord)) throw bad
    const { seq, latest, message } = bad
    printItem(cli, {
      verified: false,
      first_bad_seq: seq,
      ...(latest > seq && { first_bad_seq_at_most: latest }),
      why: message,
    })
    throw new Declined()
  }
}

/** Verifies a file with a separate manifest. Its errors name no single event. */
async function verifyBeside(cli: Cli, file: string | undefined, manifest: string, options: Options): Promise<void> {
  const pinned = await readPinned(options)
  if (file === undefined || pinned === undefined || options.checkpoint !== undefined)
    throw new UsageError('--manifest needs a file and --trust-set, and no other option.')
  const trusted = trustedBy(pinned)
  const given = readManifest(await readText(manifest), manifest)
  try {
    const verdict = await verifyFile(bytesOfFile(file, cli.input), given, trusted)
    cli.note('Only the signature of the manifest was verified, not each event.')
    printItem(cli, { verified: true, ...verdict })
  } catch (e) {
    if (!(e instanceof BadRecord)) throw e
    printItem(cli, { verified: false, first_bad_seq: null, why: e.message })
    throw new Declined()
  }
}

async function readPinned({ trustSet }: Options) {
  if (trustSet === undefined) return undefined
  const text = await readText(trustSet)
  try {
    return readTrustSet(text)
  } catch (e) {
    if (!(e instanceof VerificationError)) throw e
    throw new UsageError(`The file of --trust-set can't be used: ${e.message}.`)
  }
}
async function readKept({ checkpoint }: Options, trusted: Trusted | undefined): Promise<Known | undefined> {
  return checkpoint === undefined ? undefined : bringCheckpoint(await readText(checkpoint), trusted)
}
const progressOf = (cli: Cli) => (events: number) => {
  if (events % saidEvery === 0) cli.note(`${events} events …`)
}

async function ofFile(cli: Cli, file: string, options: Options) {
  const pinned = await readPinned(options)
  const trusted = pinned && trustedBy(pinned)
  const kept = await readKept(options, trusted)
  const reached = kept ? [kept] : []
  async function* checkpoints() {
    yield* reached
  }
  const witness = { checkpoints: checkpoints(), reached }
  return verifyExport(linesOfFile(file, cli.input), { trusted, witness, progress: progressOf(cli) })
}

async function ofServer(cli: Cli, options: Options) {
  const client = await cli.client()
  const pinned = await readPinned(options)
  /** Returns keys that follow from the pinned ones; without these, the keys of the server. */
  const trustedNow = async (): Promise<Trusted> => {
    const since = pinned && { since: pinned.version }
    const present = await patiently(() => client.trustAnchors({ query: { ...cli.scope, ...since } }))
    if (pinned) openTrust(pinned, { tenantId: pinned.tenant_id }).accept(present, new Date())
    return trustedBy(present)
  }
  const trusted = await trustedNow()
  const kept = await readKept(options, trusted)
  return verifyServer({ client, scope: cli.scope, trusted, trustedNow, kept, progress: progressOf(cli) })
}

type Verdict = Awaited<ReturnType<typeof verifyExport>>['verdict']
function remarks({ first_seq, manifest_is_signed, is_filtered, checkpoint, checkpoints_of_other_keys }: Verdict) {
  return [
    ...(first_seq !== null && first_seq > 1
      ? [`The events begin at sequence number ${first_seq}. Earlier events are not included.`]
      : []),
    ...(is_filtered ? ['The export has a filter: only the signature proves that no matching event is missing.'] : []),
    ...(manifest_is_signed ? [] : ['The manifest was not verified: give the keys with --trust-set.']),
    ...(checkpoint === null ? ['The events were not compared with a checkpoint.'] : []),
    ...(checkpoints_of_other_keys > 0
      ? [`${checkpoints_of_other_keys} checkpoints match, but are signed by keys that the trust set no longer has.`]
      : []),
  ]
}
