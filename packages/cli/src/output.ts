import { stripVTControlCharacters } from 'node:util'
import { pageItems } from '@holdfast/contract/limits'
import type { Cli } from './cli.ts'
import type { AskPage, Page } from './pages.ts'
import { jsonText, plain } from './text.ts'

export type Column<T> = readonly [title: string, value: (item: T) => unknown]

/** Prints up to `limit` items of a list: as a table, or with --json one object per line as they arrive. */
export async function printList<T>(
  cli: Cli,
  limit: number,
  columns: readonly Column<T>[],
  ask: AskPage<T>,
): Promise<void> {
  const rows: string[][] = []
  let left = limit
  let cursor: string | null = null
  do {
    const page: Page<T> = await ask({ limit: Math.min(left, pageItems.most), ...(cursor !== null && { cursor }) })
    for (const item of page.items) {
      if (cli.json) cli.say(jsonText(item))
      else rows.push(columns.map(([, value]) => cellText(value(item))))
    }
    left -= page.items.length
    // A page may be empty although there are more: a search for rare items goes on.
    cursor = page.next_cursor === cursor ? null : page.next_cursor
  } while (cursor !== null && left > 0)
  if (!cli.json)
    printTable(
      cli,
      columns.map(([title]) => title),
      rows,
    )
  if (cursor !== null) cli.note(`There are more; see them with --limit ${limit * 10}.`)
}

/** Prints a complete array as such a list. */
export const printAll = <T>(cli: Cli, columns: readonly Column<T>[], items: readonly T[]): Promise<void> =>
  printList(cli, items.length, columns, async () => ({ items, next_cursor: null }))

function printTable(cli: Cli, titles: readonly string[], rows: readonly string[][]): void {
  if (rows.length === 0) cli.note('None.')
  else for (const line of tableLines([titles.map((title) => cli.strong(title)), ...rows])) cli.say(line)
}

/** Formats columns as wide as their widest cell, two spaces between. */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const widthOf = (text: string) => [...stripVTControlCharacters(text)].length
  const widths: number[] = []
  for (const row of rows) for (const [n, cell] of row.entries()) widths[n] = Math.max(widths[n] ?? 0, widthOf(cell))
  const pad = (cell: string, n: number) => cell + ' '.repeat((widths[n] ?? 0) - widthOf(cell))
  return rows.map((row) => row.map(pad).join('  ').trimEnd())
}

/** Prints one thing: a field per line, or with --json as JSON. */
export function printItem(cli: Pick<Cli, 'json' | 'say' | 'strong'>, item: object): void {
  const fields = () => tableLines(fieldsOf(item).map(([name, text]) => [name && cli.strong(name), text]))
  for (const line of cli.json ? [jsonText(item, 2)] : fields()) cli.say(line)
}

/** Fields of nested objects are named by their path. */
function fieldsOf(item: object, path = ''): [string, string][] {
  return Object.entries(item).flatMap(([name, value]): [string, string][] => {
    const isNested = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (isNested) return fieldsOf(value, `${path}${name}.`)
    const [first = '', ...more] = pemLines(value) ?? [cellText(value)]
    return [[plain(path + name), first], ...more.map((line): [string, string] => ['', line])]
  })
}

/** Returns the lines of PEM certificates; undefined for any other value. */
function pemLines(value: unknown): string[] | undefined {
  const texts = Array.isArray(value) ? value : [value]
  const isPem = texts.length > 0 && texts.every((text) => typeof text === 'string' && pem.test(text))
  return isPem ? texts.flatMap((text: string) => text.trimEnd().split('\n')) : undefined
}
const pem = /^-----BEGIN CERTIFICATE-----\n(?:[A-Za-z0-9+/=]{1,76}\n)+-----END CERTIFICATE-----\n?$/

export function cellText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  if (Array.isArray(value) && value.every((entry) => typeof entry !== 'object'))
    return value.length > 0 ? plain(value.join(', ')) : '-'
  return typeof value === 'object' ? jsonText(value) : plain(String(value))
}

/** Prints a secret that is shown once alone to stdout, so that it can be piped, and the note to stderr. */
export function printSecret(cli: Cli, secret: string, whole: object, note: string): void {
  cli.say(cli.json ? jsonText(whole, 2) : secret)
  cli.note(`${note} It is shown only this once.`)
}

/**
 * Prints the warnings of a response on stderr: the change was made, and requires an action. A server of an earlier
 * version returns none.
 */
export function noteWarnings(cli: Cli, { warnings = [] }: { warnings?: readonly { message: string }[] }): void {
  for (const { message } of warnings) cli.note(`Warning: ${message}`)
}
