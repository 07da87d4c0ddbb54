import { call, type InputOf } from '../api/client.ts'
import { formatNumber } from '../ui/format.ts'
import { saveFile } from '../ui/save-file.ts'
import { toast } from '../ui/toast.tsx'
import { commandOf } from './command.ts'
import { flatten, toCsv } from './csv.ts'
import type { ListState } from './list-state.ts'
import type { ListSpec } from './spec.ts'

const mostRows = 10_000
const perRequest = 200

const routes = {
  devices: 'GET /v1/admin/devices',
  users: 'GET /v1/admin/users',
  groups: 'GET /v1/admin/groups',
  sessions: 'GET /v1/admin/sessions',
  tokens: 'GET /v1/admin/tokens',
  notifications: 'GET /v1/admin/notifications',
  releases: 'GET /v1/admin/updates/releases',
  policy: 'GET /v1/admin/policy',
} as const
type Listed = keyof typeof routes
type Row = Readonly<Record<string, unknown>>

/**
 * Downloads the rows that match the filter as CSV, at most 10,000, with the field names of the API. If there are more,
 * a message gives the command line.
 */
export async function exportCsv<T>(spec: ListSpec<T>, state: Pick<ListState, 'q' | 'filters' | 'sort'>): Promise<void> {
  const { q, filters, sort } = state
  const route = routes[(spec.list ?? spec.kind) as Listed]
  const rows: Row[] = []
  let cursor: string | undefined
  do {
    const query = { ...filters, ...(q && { q }), sort, limit: perRequest, ...(cursor && { cursor }) }
    const page = await call(route, { query } as InputOf<typeof route>)
    rows.push(...page.items)
    cursor = page.next_cursor ?? undefined
  } while (cursor && rows.length < mostRows)
  saveFile(`${spec.list ?? spec.kind}.csv`, 'text/csv', toCsv(rows.map((row) => flatten(row))))
  if (cursor)
    toast({
      title: `The first ${formatNumber(rows.length)} ${spec.noun.many} were saved`,
      text: `For all of them run: ${commandOf(spec, state)} --json --limit 1000000`,
    })
}
