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
    .addOption(
      choice('--status <status>', 'only devices with this status', ['pending', 'active', 'suspended', 'revoked']),
    )
    .addOption(
      choice(
        '--effective-status <status>',
        'only devices with this effective status, which also covers user, locks and credential',
        effectiveStatuses,
      ),
    )
    .option('--user <user>', 'only devices of this user')
    .option('--group <group>', 'only devices in this group')
    .option('--provider <provider>', 'only devices enrolled with this identity provider')
    .option('--gateway <gateway>', 'only devices with an active session at this gateway')
    .option('--token <token>', 'only devices enrolled with this enrollment token')
    .addOption(choice('--platform <platform>', 'only devices of this platform', platforms))
    .addOption(choice('--arch <arch>', 'only devices of this architecture', deviceArchitectures))
    .option('--os-version <version>', 'only devices with exactly this operating system version')
    .option('--client-version <version>', 'only devices with exactly this client version')
    .option('--client-version-before <version>', 'only devices with a client version older than this')
    .addOption(choice('--channel <channel>', 'only devices with a policy from this channel', channels))
    .option('--tag <tag>', 'only devices with this tag')
    .addOption(choice('--posture <verdict>', 'only devices with this posture in their last report', postures))
    .addOption(choice('--presence <presence>', 'only devices that are online, offline or never seen', presences))
    .option(
      '--seen-within <duration>',
      'only devices seen within this duration, e.g. 24h, or since this time',
      parseMoment,
    )
    .option(
      '--unseen-for <duration>',
      'only devices not seen for this duration, e.g. 30d, or since this time; includes devices never seen',
      parseMoment,
    )
    .option('--q <prefix>', 'only names that begin with this text')

const postures = ['compliant', 'non_compliant', 'unknown']
