import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Benchmark } from './rig/result.ts'

/** A mistake in the arguments, explained in one sentence. */
export class UsageError extends Error {}

export const help = (
  all: readonly Benchmark[],
): string => `holdfast bench: what it costs, each figure beside its baseline in the same run

  npm run bench                      all of them; their rows in packages/bench/results.json are renewed
  npm run bench -- P1 P7             the ones named, and their rows
  npm run bench -- --quick [names]   fewer rounds, a twentieth of the devices; for a look, not for the record

  --quick          see above
  --profile DIR    leaves a CPU profile of every server process in DIR, where a target is short; slows it down
  --help

${all.map(({ id, work }) => `  ${id.padEnd(5)}${work}`).join('\n')}

The server runs as operators run it (main.ts, embedded PostgreSQL, an empty data directory) on one core, the load on another.
Exit code: 0 also when a target is missed (the table says "short"); 1 when a benchmark could not run; 2 for a wrong call.
`

/** Parses the arguments. Undefined if help was requested. Throws `UsageError`. */
export function readOptions(
  args: string[],
  all: readonly Benchmark[],
): { chosen: Benchmark[]; quick: boolean; profileTo: string | undefined } | undefined {
  const { values, positionals } = parse(args)
  if (values.help) return undefined
  const names = new Set(positionals.map((name) => name.toUpperCase()))
  for (const name of names)
    if (!all.some(({ id }) => id === name))
      throw new UsageError(`there is no benchmark ${name}; there are ${all.map(({ id }) => id).join(', ')}.`)
  return {
    chosen: all.filter(({ id }) => names.size === 0 || names.has(id)),
    quick: values.quick ?? false,
    profileTo: values.profile && resolve(values.profile),
  }
}

function parse(args: string[]) {
  const flag = { type: 'boolean' } as const
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: { quick: flag, profile: { type: 'string' }, help: flag },
    })
  } catch (e) {
    throw new UsageError((e as Error).message)
  }
}
