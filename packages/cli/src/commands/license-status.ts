import type { Contract, Output } from '@holdfast/contract'
import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { describeLimits } from '../limits.ts'
import { examples } from '../options.ts'
import { printItem } from '../output.ts'

type Status = Output<Contract['getLicenseStatus']>

/** Adds commands to `holdfast license`: state of the license in force. */
export function addLicenseStatus(license: Command, cli: Cli): void {
  examples(license.command('status'), 'license status', 'license status --json | jq -r .deployment_id')
    .description('Show the license in force\n\nIf a newer file was refused, it shows the reason.')
    .action(async () => {
      const found = await (await cli.client()).getLicenseStatus({ query: cli.scope })
      printItem(cli, cli.json ? found : readable(found))
    })
  examples(license.command('reload'), 'license reload')
    .description(
      'Make the server read its license file again\n\nThe file is the one in HOLDFAST_LICENSE_FILE. An invalid file changes nothing.',
    )
    .action(async () => {
      const answer = await (await cli.client()).reloadLicense({ query: cli.scope })
      if (cli.json) return printItem(cli, answer)
      cli.note(
        answer.changed ? 'The license in the file is now in force.' : 'The license in the file was already in force.',
      )
      printItem(cli, readable(answer.license))
    })
}

/** Most urgent fields first. */
function readable({ source, state, edition, customer, expires_at, grace_ends_at, ...rest }: Status): object {
  const { problem, limits, features, deployment_id, ...others } = rest
  return {
    state,
    ...(problem && { problem: problem.detail, problem_at: problem.at }),
    edition,
    customer,
    expires_at,
    grace_ends_at,
    limits: describeLimits(limits),
    features,
    deployment_id,
    source,
    ...others,
  }
}
