import { setTimeout as delay } from 'node:timers/promises'
import { ApiError, type Client, readTrustSet } from '@holdfast/sdk'
import type { Command } from 'commander'
import { BadRecord } from '../audit/chain.ts'
import { checkpointKeys } from '../audit/keys.ts'
import { verifyFile } from '../audit/verify-file.ts'
import { type Source, verifyServer } from '../audit/verify-server.ts'
import type { Cli } from '../cli.ts'
import { Declined, UsageError } from '../exit.ts'
import { readText } from '../files.ts'
import { examples } from '../options.ts'
import { type Page, printItem } from '../output.ts'

type Options = { server?: boolean; checkpoint?: string; trustSet?: string }
const pageSize = 200
const saidEvery = 100_000

export function addAuditVerify(audit: Command, cli: Cli): void {
  examples(
    audit
      .command('verify [file]')
      .description('whether events are those that were recorded: an export (NDJSON), or the record of the server')
      .option('--server', 'walk the whole record of the server')
      .option('--checkpoint <file>', 'a checkpoint (signed note) that was kept: the record has to go on from it')
      .option('--trust-set <file>', 'the keys that sign checkpoints, as trust show --json wrote them')
      .action((file: string | undefined, options: Options) => verify(cli, file, options)),
    'audit verify events.ndjson --trust-set trust-set.json',
    'audit verify --server',
    'audit verify --server --checkpoint last-month.txt',
  )
}

async function verify(cli: Cli, file: string | undefined, { server, checkpoint, trustSet }: Options): Promise<void> {
  if ((file === undefined) === (server !== true)) throw new UsageError('Name a file, or say --server.')
  const kept = checkpoint === undefined ? undefined : await readText(checkpoint)
  const pinned = trustSet === undefined ? undefined : checkpointKeys(readTrustSet(await readText(trustSet)))
  const progress = (events: number) => {
    if (events % saidEvery === 0) cli.note(`${events} events …`)
  }
  try {
    if (file !== undefined) {
      const verdict = await verifyFile(file, { keys: pinned ?? [], kept, progress })
      if (verdict.checkpoint === null)
        cli.note('Compared with no checkpoint: whoever wrote it could have written all of it.')
      else if (!verdict.signed) cli.note('The checkpoint was not checked: name the keys with --trust-set.')
      return printItem(cli, { verified: true, ...verdict })
    }
    const client = await cli.client()
    const keys = pinned ?? checkpointKeys(await client.trustAnchors({ query: cli.scope }))
    const verdict = await verifyServer(sourceOf(client, cli.scope), { keys, kept, progress })
    if (verdict.first_seq !== null && verdict.first_seq > 1)
      cli.note(`Places 1 to ${verdict.first_seq - 1} are gone (purged?); their hashes are those that were signed.`)
    printItem(cli, { verified: true, ...verdict })
  } catch (e) {
    if (!(e instanceof BadRecord)) throw e
    printItem(cli, { verified: false, first_bad_seq: e.seq, why: e.message })
    throw new Declined()
  }
}

/** A walk asks often: where it is asked to wait, it does. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (;;)
    try {
      return await ask()
    } catch (e) {
      if (!(e instanceof ApiError) || e.code !== 'rate_limited') throw e
      await delay(1000 * (e.retryAfterSeconds ?? 1))
    }
}

async function* walk<T>(ask: (page: { limit: number; cursor?: string }) => Promise<Page<T>>): AsyncGenerator<T> {
  let cursor: string | null = null
  do {
    const from: { cursor?: string } = cursor === null ? {} : { cursor }
    const page = await patiently(() => ask({ limit: pageSize, ...from }))
    yield* page.items
    cursor = page.next_cursor
  } while (cursor !== null)
}

const sourceOf = (client: Client, scope: Cli['scope']): Source => ({
  events: () => walk((page) => client.listAuditEvents({ query: { ...page, ...scope, sort: 'seq' } })),
  checkpoints: () => walk((page) => client.listAuditCheckpoints({ query: { ...page, ...scope, sort: 'size' } })),
  newest: async () => (await client.listAuditCheckpoints({ query: { limit: 1, ...scope } })).items[0],
  prove: (event_id) => patiently(() => client.proveAuditEvent({ params: { event_id }, query: scope })),
  consistency: async (from, to) =>
    (await patiently(() => client.proveAuditConsistency({ query: { from, to, ...scope } }))).proof,
})
