import { type ChangedKind, changedKindNames, type StreamEvent } from '@holdfast/contract/stream'
import { changes } from '@holdfast/sdk'
import type { Command } from 'commander'
import type { Cli } from '../cli.ts'
import { choice, examples } from '../options.ts'
import { jsonText } from '../text.ts'

type Options = { kind?: ChangedKind[]; after?: string }

export function addWatch(program: Command, cli: Cli): void {
  examples(
    program
      .command('watch')
      .description('Show changes in the tenant as they happen\n\nIt prints one line per change.')
      .addOption(choice('--kind <kind...>', 'only changes in these lists', changedKindNames))
      .option('--after <id>', 'id of the event after which to resume; default: now')
      .action((options: Options) => watch(cli, options)),
    'watch',
    'watch --kind devices gateways',
    'watch --json | jq -c .data',
  )
}

async function watch(cli: Cli, { kind: kinds, after }: Options): Promise<void> {
  const client = await cli.client()
  let last = after
  try {
    for await (const event of changes(client, {
      ...(kinds && { kinds }),
      ...cli.scope,
      lastEventId: after,
      onRetry: (cause) => cause instanceof Error && cli.note(`${cause.message} Trying again.`),
    })) {
      last = event.id
      if (cli.json) cli.say(jsonText(event))
      else for (const line of linesOf(event)) cli.say(line)
    }
  } catch (e) {
    if (last !== undefined) cli.hint(`To resume after the last event, add --after ${last}.`)
    throw e
  }
}

const idsOf = ({ ids, many }: { ids: readonly string[]; many: boolean }) => (many ? 'many' : ids.join(' '))

/** Returns a line for each change. Events for programs only have none. */
function linesOf(e: StreamEvent): string[] {
  switch (e.event) {
    case 'ready':
      return []
    case 'changed':
      return e.data.changes.map((change) => `${change.kind}  ${idsOf(change)}`)
    case 'alert': {
      const { raised, ended, many } = e.data
      const line = (what: string, ids: readonly string[]) => (ids.length > 0 ? [`alert ${what}  ${ids.join(' ')}`] : [])
      return [...line('raised', raised), ...line('ended', ended), ...(many ? ['alert  many'] : [])]
    }
    case 'run':
    case 'gateway':
      return [`${e.event}  ${idsOf(e.data)}`]
    case 'audit':
      return [`audit  ${e.data.seq}`]
    case 'expires':
      return [`expires  ${e.data.at}  ${e.data.cause}`]
    case 'end':
      return [`end  ${e.data.reason}`]
    case 'reset':
      return ['reset  changes were missed']
    case 'adoption':
      return ['adoption']
  }
}
