/** Options of the command line are called as the parameters of the API, but for ids: `--user`, not `--user-id`. */
const optionOf = (name: string): string => `--${name.replace(/_id$/, '').replaceAll('_', '-')}`
/** Parameters that are seconds in the API and a duration on the command line. */
const durations: ReadonlySet<string> = new Set(['unseen_for', 'seen_within'])

function durationOf(seconds: number): string {
  if (seconds % 86_400 === 0) return `${seconds / 86_400}d`
  return seconds % 3600 === 0 ? `${seconds / 3600}h` : `${seconds}s`
}

/** A word of a command line, in quotes where a shell would take it apart. */
export const quoted = (word: string): string =>
  /^[\w.:@/+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`

/**
 * Parameters of a list as options of the command line.
 *
 * @example optionsOf({ user_id: 'usr_1', unseen_for: '86400' }) // ['--user=usr_1', '--unseen-for=1d']
 */
export const optionsOf = (parameters: Readonly<Record<string, string>>): string[] =>
  Object.entries(parameters).map(([name, value]) => {
    const isSeconds = durations.has(name) && /^\d+$/.test(value)
    return `${optionOf(name)}=${quoted(isSeconds ? durationOf(Number(value)) : value)}`
  })

type Shown = { q: string; filters: Readonly<Record<string, string>>; sort: string }

/**
 * The line that lists the same on the command line.
 *
 * @example commandOf({ command: 'holdfast device list', defaultSort: '-enrolled_at' }, state)
 */
export function commandOf(spec: { command: string; defaultSort: string }, { q, filters, sort }: Shown): string {
  const shown = { ...(q && { q }), ...filters, ...(sort !== spec.defaultSort && { sort }) }
  return [spec.command, ...optionsOf(shown)].join(' ')
}
