import type { Contract, Given } from '@holdfast/contract'
import type { Command } from 'commander'
import { given } from '../cli.ts'
import { choice, parseMoment } from '../options.ts'

type Query = Given<Contract['listAuditEvents']>['query']
export type AuditFilter = {
  kind?: string
  actor?: string
  actorType?: string
  target?: string
  targetType?: string
  sourceIp?: string
  outcome?: NonNullable<Query['outcome']>
  origin?: NonNullable<Query['origin']>
  from?: string
  to?: string
  request?: string
  operation?: string
  reason?: string
  username?: string
  search?: string
  text?: string
}

/** Adds the options that select events. */
export const auditFilter = (command: Command): Command =>
  command
    .option(
      '--kind <kinds>',
      'only events of these kinds, e.g. device.enrolled or login.*; separate several with commas',
    )
    .option('--actor <actor>', 'only events by this user, API key, device or gateway (name or id)')
    .option('--actor-type <type>', 'only events by this type of actor, e.g. user or api_key')
    .option(
      '--target <target>',
      'only events about this target (name or id); add --target-type if several have this name',
    )
    .option('--target-type <type>', 'only events about this type of target, e.g. device or user')
    .option('--source-ip <address>', 'only events from this IP address')
    .addOption(choice('--outcome <outcome>', 'only events with this outcome', ['success', 'refused', 'failed']))
    .addOption(
      choice('--origin <origin>', 'only events from this type of client', [
        'api',
        'console',
        'device',
        'gateway',
        'job',
      ]),
    )
    .option('--from <time>', 'start: a time, or a duration before now, e.g. 24h', parseMoment)
    .option('--to <time>', 'end: a time, or a duration before now, e.g. 2h', parseMoment)
    .option('--request <request_id>', 'only events of this request')
    .option('--operation <operation>', 'only events of this operation, e.g. listUsers or suspend')
    .option('--reason <reason>', 'only events with this reason, e.g. wrong_password or forbidden')
    .option('--username <name>', 'only failed sign-ins with this username')
    .option('--search <prefix>', 'only events whose kind, actor or target (name or id) begins with this text')
    .option('--text <words>', 'only events that contain these words')

export const auditQuery = ({
  actor,
  actorType,
  target,
  targetType,
  sourceIp,
  request,
  search,
  ...rest
}: AuditFilter): Query =>
  given({
    ...rest,
    actor_id: actor,
    actor_type: actorType,
    target_id: target,
    target_type: targetType,
    source_ip: sourceIp,
    request_id: request,
    q: search,
  })
