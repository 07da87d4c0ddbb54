import type { Contract, Output } from '@holdfast/contract'
import type { Command } from 'commander'
import { type Cli, given } from '../cli.ts'
import { examples } from '../options.ts'
import { type Column, printAll, printItem } from '../output.ts'
import { jsonText } from '../text.ts'

type Posture = Output<Contract['getDevicePosture']>
const columns: readonly Column<Posture['checks'][number]>[] = [
  ['CHECK', (c) => c.check_id],
  ['RESULT', (c) => (c.passed ? c.reason_code : c.reason_code.toUpperCase())],
  ['ENFORCEMENT', (c) => c.enforcement],
  ['EXPECTED', (c) => c.expected],
  ['ACTUAL', (c) => jsonText(c.actual)],
  ['VALID UNTIL', (c) => c.valid_until],
]

export function addDevicePosture(device: Command, cli: Cli): void {
  examples(device.command('posture <device>'), 'device posture anna-laptop')
    .description('Show the posture checks of a device\n\nIt shows the result of each check for the last report.')
    .action(async (device_id: string) => {
      const posture = await (await cli.client()).getDevicePosture({ params: { device_id }, query: cli.scope })
      if (cli.json) return printItem(cli, posture)
      const { checks, facts: _, ...summary } = posture
      printItem(cli, summary)
      await printAll(cli, columns, checks)
    })
  examples(
    device.command('assertion <device>'),
    'device assertion anna-laptop',
    'device assertion anna-laptop --nonce "$(head -c 16 /dev/urandom | basenc --base64url | tr -d =)" --json',
  )
    .description(
      'Print the signed posture assertion of a device\n\nIt is for a relying party, which verifies the signature.',
    )
    .option('--nonce <nonce>', 'nonce from the relying party, 8 to 64 bytes in base64url; it prevents replay')
    .action(async (device_id: string, { nonce }: { nonce?: string }) => {
      const query = { device_id, ...given({ nonce }), ...cli.scope }
      printItem(cli, await (await cli.client()).postureAssertion({ query }))
    })
}
