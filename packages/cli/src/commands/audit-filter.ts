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
    .option('--kind <kinds>', 'e.g. device.enrolled, or login.*; several are separated by commas')
    .option('--actor <actor>', 'by this user, key, device or gateway: its name or id')
    .option('--actor-type <type>', 'by users, API keys …, e.g. api_key')
    .option('--target <target>', 'about this target: its name or id; with --target-type if several have the name')
    .option('--target-type <type>', 'about devices, users …, e.g. device')
    .option('--source-ip <address>', 'from this address')
    .addOption(choice('--outcome <outcome>', 'only these', ['success', 'refused', 'failed']))
    .addOption(choice('--origin <origin>', 'by this kind of client', ['api', 'console', 'device', 'gateway', 'job']))
    .option('--from <time>', 'since this time, or since so long ago, e.g. 24h', parseMoment)
    .option('--to <time>', 'until then', parseMoment)
    .option('--request <request_id>', 'of this request')
    .option('--operation <operation>', 'of this operation, e.g. listUsers, or suspend')
    .option('--reason <reason>', 'for this reason, e.g. wrong_password, or forbidden')
    .option('--username <name>', 'sign-ins of this username that failed')
    .option('--search <prefix>', 'only events whose kind, actor or target (id or name) begins with this text')
    .option('--text <words>', 'with these words anywhere')

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
