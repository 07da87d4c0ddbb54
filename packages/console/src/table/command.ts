type Names = Readonly<Record<string, string | false>>

/** Options of the command line are called as the parameters of the API, but for ids: `--user`, not `--user-id`. */
const optionOf = (name: string): string => `${name.replace(/_id$/, '').replaceAll('_', '-')}`
/** Parameters that are seconds in the API and a duration on the command line. */
const durations: ReadonlySet<string> = new Set(['unseen_for', 'seen_within'])

function durationOf(seconds: number): string {
  if (seconds % 86_400 === 0) return `${seconds / 86_400}d`
  return seconds % 3600 === 0 ? `${seconds / 3600}h` : `${seconds}s`
}

/** A word of a command line, in quotes where a shell would take it apart. */
const quoted = (word: string): string => (/^[\w.:@/+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)

/**
 * Parameters of a list as options of the command line.
 *
 * @param names options that are called otherwise; `false` where the command line has none
 * @example optionsOf({ user_id: 'usr_1', unseen_for: '86400' }) // ['--user=usr_1', '--unseen-for=1d']
 */
export const optionsOf = (parameters: Readonly<Record<string, string>>, names: Names = {}): string[] =>
  Object.entries(parameters).flatMap(([name, value]) => {
    const option = names[name] ?? optionOf(name)
    const isSeconds = durations.has(name) && /^\d+$/.test(value)
    return option === false ? [] : [`--${option}=${quoted(isSeconds ? durationOf(Number(value)) : value)}`]
  })

type Shown = { q: string; filters: Readonly<Record<string, string>>; sort: string }

/**
 * The line that lists the same on the command line.
 *
 * @example commandOf({ command: 'holdfast device list', defaultSort: '-enrolled_at' }, state)
 */
type Listed = { command: string; defaultSort: string; options?: Names }

export function commandOf(spec: Listed, { q, filters, sort }: Shown): string {
  const shown = { ...(q && { q }), ...filters, ...(sort !== spec.defaultSort && { sort }) }
  return [spec.command, ...optionsOf(shown, spec.options)].join(' ')
}
