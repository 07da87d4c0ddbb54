import { once } from 'node:events'
import { access } from 'node:fs/promises'
import {
  type AuditExportManifest,
  type AuditExportQuery,
  auditManifestPath,
  readTrustSet,
  receiveAuditExport,
  saveAuditExport,
} from '@holdfast/sdk'
import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { UsageError } from '../exit.ts'
import { readText } from '../files.ts'
import { choice, examples } from '../options.ts'
import { printItem } from '../output.ts'
import { bytesText } from '../text.ts'
import { type AuditFilter, auditFilter, auditQuery } from './audit-filter.ts'

type Options = AuditFilter & { format: AuditExportQuery['format']; out?: string; trustSet?: string }
const formats: readonly AuditExportQuery['format'][] = ['csv', 'json', 'ndjson', 'syslog']
const saidEvery = 10 * 1024 * 1024

/** Adds commands to `holdfast audit`. */
export function addAuditExport(audit: Command, cli: Cli): void {
  examples(
    auditFilter(
      audit
        .command('export')
        .description(
          'Export audit events and verify the export\n\nEvents are in order of their sequence numbers. The command verifies that the export is complete and signed.',
        ),
    )
      .addOption(choice('--format <format>', 'file format', formats).default('ndjson'))
      .option('--out <file>', 'output file, which must not exist; default: stdout')
      .option('--trust-set <file>', 'file with the trusted keys, written by "holdfast trust show --json"')
      .action((options: Options) => run(cli, options)),
    'audit export --format csv --from 90d --out last-quarter.csv',
    'audit export --kind login.failed > failed.ndjson',
  )
}

async function run(cli: Cli, { format, out, trustSet, ...filter }: Options): Promise<void> {
  const options = {
    onProgress: progressOf(cli),
    ...(trustSet !== undefined && { trust: readTrustSet(await readText(trustSet)) }),
  }
  const query = { format, ...auditQuery(filter), ...cli.scope }
  if (out === undefined) {
    const { manifest } = await receiveAuditExport(await cli.client(), query, (bytes) => hand(cli, bytes), options)
    return cli.note(summary(manifest))
  }
  const beside = auditManifestPath(out, format)
  await requireNew(out)
  if (beside !== undefined) await requireNew(beside)
  const client = await cli.client()
  const { manifest } = await saveAuditExport(client, query, out, options)
  printItem(cli, { file: out, ...(beside !== undefined && { manifest_file: beside }), ...manifest })
}

/** Waits for a slow reader. */
async function hand({ output }: Cli, bytes: Uint8Array): Promise<void> {
  if (!output.write(bytes)) await once(output, 'drain')
}

const requireNew = (path: string): Promise<void> =>
  access(path).then(
    () => {
      throw new UsageError(`${path} already exists. Name another file, or move this one.`)
    },
    () => {},
  )

const summary = ({ events, first_seq, last_seq, sha256 }: AuditExportManifest): string =>
  `${events} events${events > 0 ? `, sequence numbers ${first_seq} to ${last_seq}` : ''}; SHA-256 ${sha256}, signed.`

function progressOf(cli: Cli): (received: number) => void {
  let told = 0
  return (received) => {
    if (received < told + saidEvery) return
    told = received
    cli.note(`${bytesText(received)} …`)
  }
}
