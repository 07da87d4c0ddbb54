import type { Contract, Output } from '@holdfast/contract'
import { channels, effectiveStatuses, presences } from '@holdfast/contract/devices'
import { platforms } from '@holdfast/contract/enrollment-fields'
import { deviceArchitectures } from '@holdfast/contract/vocabulary'
import type { Command } from 'commander'
import { given } from '../cli.ts'
import { choice, parseMoment } from '../options.ts'

type Device = Output<Contract['getDevice']>
export type Filter = {
  status?: Device['status']
  effectiveStatus?: Device['effective_status']
  user?: string
  group?: string
  provider?: string
  gateway?: string
  token?: string
  platform?: Device['platform']
  tag?: string
  posture?: Device['posture']['verdict']
  presence?: Device['presence']
  seenWithin?: string
  unseenFor?: string
  clientVersion?: string
  clientVersionBefore?: string
  osVersion?: string
  arch?: NonNullable<Device['arch']>
  channel?: Device['effective_channel']
  q?: string
}

/** Returns a filter in the API's form. Other options stay unchanged. */
export function filterOf<T extends Filter>(options: T) {
  const { effectiveStatus, user, group, provider, token, gateway, ...others } = options
  const { seenWithin, unseenFor, clientVersion, clientVersionBefore, osVersion, ...rest } = others
  return given({
    ...rest,
    effective_status: effectiveStatus,
    user_id: user,
    group_id: group,
    provider_id: provider,
    token_id: token,
    gateway_id: gateway,
    seen_within: seenWithin,
    unseen_for: unseenFor,
    client_version: clientVersion,
    client_version_before: clientVersionBefore,
    os_version: osVersion,
  })
}

/** Adds the options that select devices. */
export const filtered = (command: Command): Command =>
  command
    .addOption(choice('--status <status>', 'only these', ['pending', 'active', 'suspended', 'revoked']))
    .addOption(
      choice(
        '--effective-status <status>',
        'of this effective status, which includes user, locks and credential',
        effectiveStatuses,
      ),
    )
    .option('--user <user>', 'of this user')
    .option('--group <group>', 'in this group')
    .option('--provider <provider>', 'enrolled by this identity provider')
    .option('--gateway <gateway>', 'with a session through this gateway now')
    .option('--token <token>', 'enrolled by this enrollment token')
    .addOption(choice('--platform <platform>', 'of this platform', platforms))
    .addOption(choice('--arch <arch>', 'of this architecture', deviceArchitectures))
    .option('--os-version <version>', 'with exactly this version of the operating system')
    .option('--client-version <version>', 'with exactly this client version')
    .option('--client-version-before <version>', 'with an older client version')
    .addOption(choice('--channel <channel>', 'with a policy from this channel', channels))
    .option('--tag <tag>', 'with this tag')
    .addOption(choice('--posture <verdict>', 'with this verdict of the last report', postures))
    .addOption(choice('--presence <presence>', 'that are online, offline, or were never seen', presences))
    .option('--seen-within <duration>', 'last seen within this time, e.g. 24h, or since a time', parseMoment)
    .option(
      '--unseen-for <duration>',
      'not seen for this time, e.g. 30d, or since a time; also never seen',
      parseMoment,
    )
    .option('--q <prefix>', 'name starts with')

const postures = ['compliant', 'non_compliant', 'unknown']
