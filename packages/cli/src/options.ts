import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from './text.ts'

export const choice = (flags: string, description: string, values: readonly string[]): Option =>
  new Option(flags, description).choices([...values])

export const integer =
  (minimum: number, maximum: number) =>
  (text: string): number => {
    const value = Number(text)
    if (/^\d+$/.test(text) && value >= minimum && value <= maximum) return value
    throw new InvalidArgumentError(`It must be a whole number from ${minimum} to ${maximum}.`)
  }

export function percentage(text: string): number {
  const value = Number(text)
  if (/^\d{1,3}(\.\d+)?$/.test(text) && value <= 100) return value
  throw new InvalidArgumentError('It must be a number from 0 to 100.')
}

/** Parses a duration to seconds. */
export const duration = (text: string): number => {
  const seconds = parseDuration(text)
  if (seconds !== undefined && seconds > 0) return seconds
  throw new InvalidArgumentError('It must be a duration like 90s, 30m, 24h or 7d.')
}

/** Parses a time, or a duration before now → RFC 3339. */
export function parseMoment(text: string): string {
  const seconds = parseDuration(text)
  const time = seconds === undefined ? new Date(text) : new Date(Date.now() - seconds * 1000)
  if (Number.isNaN(time.getTime()))
    throw new InvalidArgumentError('It must be a time like 2030-01-31T08:00:00Z, or a duration before now like 2h.')
  return time.toISOString()
}

export const limit = (command: Command): Command =>
  command.option('--limit <n>', 'maximum number of results', integer(1, 1_000_000), 100)

/** Returns the sort orders of a list, each also descending. */
export const sortsOf = <const S extends readonly string[]>(...names: S) =>
  names.flatMap((name) => [name, `-${name}`]) as `${'' | '-'}${S[number]}`[]
export const sort = (command: Command, sorts: readonly string[]): Command =>
  command.addOption(choice('--sort <field>', 'sort order of the list; - in front reverses it', sorts))

export const reason = (command: Command): Command =>
  command.option('--reason <text>', 'reason, recorded in the audit log')

/** Adds examples to a command's help. */
export const examples = (command: Command, ...lines: string[]): Command =>
  command.addHelpText('after', `\nExamples:\n${lines.map((line) => `  $ holdfast ${line}`).join('\n')}`)
