import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { duration, examples, reason } from '../options.ts'
import { type Column, printAll, printItem } from '../output.ts'
import { jsonText } from '../text.ts'

type Anchor = { anchor_id: string; state: string; subject: string; not_after: string }
const columns: readonly Column<Anchor>[] = [
  ['ANCHOR', (a) => a.anchor_id],
  ['STATE', (a) => a.state],
  ['SUBJECT', (a) => a.subject],
  ['EXPIRES', (a) => a.not_after],
]

type Rotate = { emergency?: boolean; anchor?: string; overlap?: number; reason?: string; yes?: boolean }

/** Commands for trust anchors, and for the description of the API. */
export function addTrust(program: Command, cli: Cli): void {
  const trust = program.command('trust').description('Manage trust anchors')
  examples(
    trust
      .command('show')
      .description('Show the current trust set\n\nWith --json, it prints the complete trust set with its signatures.')
      .action(async () => {
        const set = await (await cli.client()).trustAnchors({ query: cli.scope })
        if (cli.json) return cli.say(jsonText(set, 2))
        cli.note(`Version ${set.version}, valid until ${set.expires_at}.`)
        await printAll<Anchor>(cli, columns, set.anchors)
      }),
    'trust show',
    'trust show --json > trust-set.json',
  )
  reason(
    examples(
      trust
        .command('rotate')
        .description('Replace the active trust anchor')
        .option('--emergency', 'end the old anchor and every certificate under it at once')
        .option('--anchor <signer>', 'expected active anchor; the server refuses the change if another one is active')
        .option('--overlap <duration>', 'minimum duration for which the old anchor stays valid, e.g. 30d', duration)
        .option('--yes', 'skip the confirmation prompt'),
      'trust rotate --overlap 30d --reason "yearly change"',
      'trust rotate --emergency --anchor sgn_01h455vb4pex5vsknk084sn02q --reason "key stolen"',
    ),
  ).action((options: Rotate) => rotate(cli, options))
  examples(
    program
      .command('openapi')
      .description('Print the OpenAPI 3.1 description of the API (JSON)')
      .action(async () => cli.say(jsonText(await (await cli.client()).openapiDocument(), 2))),
    'openapi > openapi.json',
  )
}

const explained = {
  planned: `The old and the new anchor are valid side by side. Devices and gateways fetch the next trust set by themselves.
The old anchor retires when its time is over and no device or gateway needs it any more.`,
  emergency: `The active anchor ends now, and every certificate under it is revoked. A device that connects by certificate
is refused until it has fetched the next trust set and has another certificate.`,
}

async function rotate(cli: Cli, { emergency, anchor, overlap, reason: why, yes }: Rotate): Promise<void> {
  const mode = emergency ? 'emergency' : 'planned'
  cli.note(explained[mode])
  if (emergency) await cli.sure(yes, 'End the active trust anchor now?')
  const body = { mode, ...given({ anchor_id: anchor, overlap_seconds: overlap, reason: why }) } as const
  printItem(cli, await (await cli.client()).rotateTrustAnchors({ body, query: cli.scope }))
  cli.note('To see the trust set, run: holdfast trust show')
}
