type Names = Readonly<Record<string, string | false>>

/** Returns the option of the command line for an API parameter: the same name, without `_id`: `--user`. */
const optionOf = (name: string): string => `${name.replace(/_id$/, '').replaceAll('_', '-')}`
/** Parameters in seconds in the API that are a duration on the command line. */
const durations: ReadonlySet<string> = new Set(['unseen_for', 'seen_within'])

/** Parameters that are true or false in the API, and `yes` or `no` on the command line. */
const answers: ReadonlySet<string> = new Set(['mfa', 'locked', 'has_devices'])

function durationOf(seconds: number): string {
  if (seconds % 86_400 === 0) return `${seconds / 86_400}d`
  return seconds % 3600 === 0 ? `${seconds / 3600}h` : `${seconds}s`
}

/** Quotes a word of a command line if a shell would split it. */
export const quoted = (word: string): string =>
  /^[\w.:@/+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

/**
 * Converts parameters of a list to options of the command line.
 *
 * @param names options with another name; `false` if the command line has none
 * @example optionsOf({ user_id: 'usr_1', unseen_for: '86400' }) // ['--user=usr_1', '--unseen-for=1d']
 */
export const optionsOf = (parameters: Readonly<Record<string, string>>, names: Names = {}): string[] =>
  Object.entries(parameters).flatMap(([name, value]) => {
    const option = names[name] ?? optionOf(name)
    return option === false ? [] : [`--${option}=${quoted(wordOf(name, value))}`]
  })

function wordOf(name: string, value: string): string {
  if (answers.has(name)) return value === 'true' ? 'yes' : 'no'
  return durations.has(name) && /^\d+$/.test(value) ? durationOf(Number(value)) : value
}

type Shown = { q: string; filters: Readonly<Record<string, string>>; sort: string }

/**
 * Command line that lists the same objects.
 *
 * @example commandOf({ command: 'holdfast device list', defaultSort: '-enrolled_at' }, state)
 */
type Listed = { command: string; defaultSort: string; options?: Names }

export function commandOf(spec: Listed, { q, filters, sort }: Shown): string {
  const shown = { ...(q && { q }), ...filters, ...(sort !== spec.defaultSort && { sort }) }
  return [spec.command, ...optionsOf(shown, spec.options)].join(' ')
}
