import type { OutputOf } from '../../api/client.ts'
import { useLatestRun } from '../../api/live.ts'
import { useApi } from '../../api/use-api.ts'

type Run = OutputOf<'POST /v1/admin/incident/playbook'>['run']

/**
 * Returns the current run of a playbook. The stream names it before the response of the request that started it.
 *
 * @param params parameters that tell the run from others
 * @param startedAt time of the request, in ms since 1970
 * @param result response of the request
 */
export function useRunOf(
  workflow: string,
  params: Readonly<Record<string, string>>,
  startedAt: number | undefined,
  result: Run | undefined,
) {
  const latest = useLatestRun()
  const isNew = latest !== undefined && startedAt !== undefined && latest.at >= startedAt
  const id = result?.workflow_run_id ?? (isNew ? latest.id : undefined)
  const isOver = result !== undefined && result.finished_at !== null
  const { data } = useApi(
    'GET /v1/admin/workflows/runs/{workflow_run_id}',
    { params: { workflow_run_id: id ?? '' } },
    { enabled: id !== undefined && !isOver, everyMs: 250 },
  )
  if (isOver) return result
  const isOurs = data?.workflow === workflow && Object.entries(params).every(([name, v]) => data.params[name] === v)
  return isOurs ? data : result
}
