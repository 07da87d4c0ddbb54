import { call, type InputOf } from '../api/client.ts'
import { formatNumber } from '../ui/format.ts'
import { saveFile } from '../ui/save-file.ts'
import { toast } from '../ui/toast.tsx'
import type { ListState } from './list-state.ts'
import type { ListSpec } from './spec.ts'

const mostRows = 10_000
const perRequest = 200

const routes = {
  devices: 'GET /v1/admin/devices',
  sessions: 'GET /v1/admin/sessions',
  tokens: 'GET /v1/admin/tokens',
  notifications: 'GET /v1/admin/notifications',
} as const
type Listed = keyof typeof routes
type Row = Record<string, unknown>

/**
 * Downloads what matches the filter as CSV, 10,000 rows at most: the fields of the API by their names. More than that
 * is for the command line, and the message says so.
 */
export async function exportCsv<T>(spec: ListSpec<T>, { q, filters, sort }: ListState): Promise<void> {
  const route = routes[spec.list as Listed]
  const rows: Row[] = []
  let cursor: string | undefined
  do {
    const query = { ...filters, ...(q && { q }), sort, limit: perRequest, ...(cursor && { cursor }) }
    const page = await call(route, { query } as InputOf<typeof route>)
    rows.push(...(page.items as unknown as Row[]))
    cursor = page.next_cursor ?? undefined
  } while (cursor && rows.length < mostRows)
  saveFile(`${spec.list}.csv`, 'text/csv', toCsv(rows.map((row) => flatten(row))))
  if (cursor)
    toast({
      title: `The first ${formatNumber(rows.length)} ${spec.noun.many} were saved`,
      text: `For all of them run: ${spec.command} --all -o csv`,
    })
}

/** `policy.digest` for the field `digest` of the object `policy`; lists between blanks. */
function flatten(row: Row, prefix = ''): Record<string, string> {
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) => {
      if (value !== null && typeof value === 'object' && !Array.isArray(value))
        return Object.entries(flatten(value as Row, `${prefix}${name}.`))
      return [[prefix + name, Array.isArray(value) ? value.join(' ') : value === null ? '' : String(value)]]
    }),
  )
}

/** RFC 4180. A leading `=`, `+`, `-` or `@` would be a formula in a spreadsheet, so an apostrophe stands before it. */
export function toCsv(rows: readonly Record<string, string>[]): string {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const cell = (value: string) => {
    const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
  }
  return [names, ...rows.map((row) => names.map((name) => row[name] ?? ''))]
    .map((cells) => cells.map(cell).join(','))
    .join('\r\n')
}
