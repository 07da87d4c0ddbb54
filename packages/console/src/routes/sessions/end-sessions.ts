import { call, type InputOf, type OutputOf } from '../../api/client.ts'
import { expectOwnChange } from '../../api/live.ts'
import { queryClient } from '../../api/query-client.ts'
import { withStepUp } from '../../api/step-up.ts'
import { formatNumber } from '../../ui/format.ts'
import { cliOptions, type SessionTarget } from './words.ts'

type Filter = Readonly<Record<string, string>>
const perRequest = 200
const mostCounted = 2_000

/** Ends the sessions in one request, and reads all data again that includes sessions. */
export async function endSessions(
  target: SessionTarget,
  { blockSeconds, reason }: { blockSeconds: number; reason: string | undefined },
): Promise<OutputOf<'POST /v1/admin/sessions'>> {
  expectOwnChange('sessions')
  expectOwnChange('devices')
  const which =
    'sessions' in target ? { session_ids: target.sessions.map((s) => s.session_id) } : { filter: target.filter }
  const body = {
    operation: 'terminate' as const,
    ...which,
    block_seconds: blockSeconds,
    ...(reason !== undefined && { reason }),
  }
  const answer = await withStepUp(() => call('POST /v1/admin/sessions', { body }))
  await queryClient.invalidateQueries({
    predicate: ({ queryKey: [route] }) => /\/v1\/admin\/(sessions|devices|dashboard|gateway)/.test(String(route)),
  })
  return answer
}

/** Returns the list filter for active sessions: everything but the state. */
export const endableFilter = ({ state: _, ...filter }: Filter): Filter => filter

/**
 * Returns the number of active sessions that match a filter, and the first names. The API has no such count, so the
 * sessions are read.
 *
 * @throws Error for more than 2,000, which need the command line
 */
export async function countMatching(filter: Filter): Promise<{ matched: number; names: string[] }> {
  const names: string[] = []
  let matched = 0
  let cursor: string | undefined
  do {
    const query = { ...filter, limit: perRequest, ...(cursor && { cursor }) }
    const page = await call('GET /v1/admin/sessions', { query } as InputOf<'GET /v1/admin/sessions'>)
    matched += page.items.length
    names.push(...page.items.slice(0, 5 - names.length).map((s) => s.device_name ?? s.device_id))
    cursor = page.next_cursor ?? undefined
    if (cursor && matched >= mostCounted)
      throw new Error(
        `More than ${formatNumber(mostCounted)} sessions match. Narrow the filter, or use holdfast session terminate.`,
      )
  } while (cursor)
  return { matched, names }
}

/** Returns the command line that ends the same sessions. */
export function commandOf(target: SessionTarget, blockSeconds: number): string {
  const which =
    'sessions' in target
      ? target.sessions.map((s) => s.session_id)
      : Object.entries(target.filter).map(
          ([name, value]) => `--${cliOptions[name as keyof typeof cliOptions] || name} ${value}`,
        )
  return ['holdfast session terminate', ...which, `--block ${blockSeconds}`].join(' ')
}
