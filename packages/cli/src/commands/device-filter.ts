import type { Contract, Output } from '@holdfast/contract'
import { effectiveStatuses } from '@holdfast/contract/devices'
import { platforms } from '@holdfast/contract/enrollment'
import type { Command } from 'commander'
import { choice } from '../options.ts'

type Device = Output<Contract['getDevice']>
export type Filter = {
  status?: Device['status']
  effectiveStatus?: Device['effective_status']
  user?: string
  group?: string
  provider?: string
  token?: string
  platform?: Device['platform']
  tag?: string
  posture?: Device['posture']['verdict']
  q?: string
}

/** The options by which devices are found. */
export const filtered = (command: Command): Command =>
  command
    .addOption(choice('--status <status>', 'only these', ['pending', 'active', 'suspended', 'revoked']))
    .addOption(
      choice(
        '--effective-status <status>',
        'of this status, with user, locks and credential taken into account',
        effectiveStatuses,
      ),
    )
    .option('--user <user>', 'of this user')
    .option('--group <group>', 'in this group')
    .option('--provider <provider>', 'enrolled by this identity provider')
    .option('--token <token>', 'enrolled by this enrollment token')
    .addOption(choice('--platform <platform>', 'of this platform', platforms))
    .option('--tag <tag>', 'with this tag')
    .addOption(choice('--posture <verdict>', 'whose last report is this', ['compliant', 'non_compliant', 'unknown']))
    .option('--q <prefix>', 'name starts with')
