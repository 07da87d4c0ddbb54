import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { examples } from '../options.ts'
import { type Column, printAll } from '../output.ts'
import { jsonText } from '../text.ts'

type Anchor = { anchor_id: string; state: string; subject: string; not_after: string }
const columns: readonly Column<Anchor>[] = [
  ['ANCHOR', (a) => a.anchor_id],
  ['STATE', (a) => a.state],
  ['SUBJECT', (a) => a.subject],
  ['ENDS', (a) => a.not_after],
]

/** What devices and gateways trust, and the description of the interface itself. */
export function addTrust(program: Command, cli: Cli): void {
  const trust = program.command('trust').description('trust anchors')
  examples(
    trust
      .command('show')
      .description('the current trust anchor set; with --json whole, as it was signed')
      .action(async () => {
        const set = await (await cli.client()).trustAnchors({ query: cli.scope })
        if (cli.json) return cli.say(jsonText(set, 2))
        cli.note(`Version ${set.version}, good until ${set.expires_at}.`)
        await printAll<Anchor>(cli, columns, set.anchors)
      }),
    'trust show',
    'trust show --json > trust-set.json',
  )
  examples(
    program
      .command('openapi')
      .description('the description of the whole interface (OpenAPI 3.1, JSON)')
      .action(async () => cli.say(jsonText(await (await cli.client()).openapiDocument(), 2))),
    'openapi > openapi.json',
  )
}
