import type { Cli } from './cli.ts'
import { type Column, printAll, printItem } from './output.ts'

type Value = { value: string; name: string | null; count: number }
type Facets = { total: { count: number; exact: boolean }; facets: Readonly<Record<string, readonly Value[]>> }
type Row = Value & { facet: string }
const columns: readonly Column<Row>[] = [
  ['FILTER', (row) => row.facet],
  ['VALUE', (row) => row.name ?? (row.value === '' ? 'not known' : row.value)],
  ['COUNT', (row) => row.count],
]

/** Prints the values of each filter with their counts, and the total above the table. */
export async function printFacets(cli: Cli, found: Facets): Promise<void> {
  if (cli.json) return printItem(cli, found)
  cli.say(cli.strong(`${found.total.exact ? '' : 'about '}${found.total.count} in all`))
  const rows = Object.entries(found.facets).flatMap(([facet, values]) => values.map((value) => ({ facet, ...value })))
  await printAll(cli, columns, rows)
}
