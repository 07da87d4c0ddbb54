import type { Contract, Input } from '@holdfast/contract'
import type { Command } from 'commander'
import { given } from '../cli.ts'
import { choice, parseMoment } from '../options.ts'

type Query = NonNullable<Input<Contract['listAuditEvents']>['query']>
export type AuditFilter = {
  kind?: NonNullable<Query['kind']>
  actor?: string
  target?: string
  sourceIp?: string
  outcome?: NonNullable<Query['outcome']>
  from?: string
  to?: string
  request?: string
}

/** Which events a command is about. */
export const auditFilter = (command: Command): Command =>
  command
    .option('--kind <kind>', 'e.g. device.enrolled')
    .option('--actor <id>', 'by this user, key, device or gateway')
    .option('--target <id>', 'about this')
    .option('--source-ip <address>', 'from this address')
    .addOption(choice('--outcome <outcome>', 'only these', ['success', 'refused', 'failed']))
    .option('--from <time>', 'since then: a time, or how long ago', parseMoment)
    .option('--to <time>', 'until then', parseMoment)
    .option('--request <request_id>', 'of this request')

export const auditQuery = ({ kind, actor, target, sourceIp, outcome, from, to, request }: AuditFilter) =>
  given({ kind, actor_id: actor, target_id: target, source_ip: sourceIp, outcome, from, to, request_id: request })
