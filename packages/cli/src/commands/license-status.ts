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
    .description('the license in force, and the reason if a newer file was refused')
    .action(async () => {
      const found = await (await cli.client()).getLicenseStatus({ query: cli.scope })
      printItem(cli, cli.json ? found : readable(found))
    })
  examples(license.command('reload'), 'license reload')
    .description('make the server read HOLDFAST_LICENSE_FILE again; an invalid file changes nothing')
    .action(async () => {
      const answer = await (await cli.client()).reloadLicense({ query: cli.scope })
      if (cli.json) return printItem(cli, answer)
      cli.note(answer.changed ? 'It is in force now.' : 'It was in force before.')
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
