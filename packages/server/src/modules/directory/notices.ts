import type { HeldReason, RunCounts } from '@holdfast/contract/directory'
import { encodeId } from '../../kernel/ids.ts'
import type { Notice } from '../notifications/index.ts'
import type { DirectoryOfRun } from './runs.queries.ts'

type Named = Pick<DirectoryOfRun, 'directory_id' | 'provider'>

/** While it is open, the directory gets no second one, since each newer snapshot supersedes a held run. */
export function heldNotice(
  runId: string,
  { directory_id, provider }: Named,
  { held, counts }: { held: readonly HeldReason[]; counts: RunCounts },
): Notice {
  const run = encodeId('directory_run', runId)
  const because = held.map(({ rule, removed, of, group }) =>
    rule === 'group_shrunk'
      ? `the group ${group} would lose ${removed} of ${of} members`
      : rule === 'empty_snapshot'
        ? `the snapshot is empty, and ${of} users are active`
        : `${removed} of ${of} active users would be suspended`,
  )
  return {
    kind: 'directory.held',
    severity: 'warning',
    title: `A run of the directory ${provider} needs confirmation`,
    detail: `The run is held and nothing was applied: ${because.join('; ')}. In total it would suspend ${counts.users.suspended} users and remove ${counts.memberships.removed} memberships. Check the run: holdfast directory show ${run}. If it is correct, confirm it: holdfast directory confirm ${run}. If not, cancel it (holdfast directory cancel ${run}), correct the directory and start a new run.`,
    subject: { type: 'directory_run', id: run, name: provider },
    dedupe_key: `directory.held:${directory_id}`,
  }
}

type Failing = Named & { kind: string }

/** Sent once, until the directory can be read again. */
export const failingNotice = (runId: string, { directory_id, provider, kind }: Failing, failure: string): Notice => ({
  kind: 'directory.failing',
  severity: 'warning',
  title: `The directory ${provider} cannot be read`,
  detail: `${failure} No user or group was changed. The server retries the pull at growing intervals. To find the cause: holdfast directory source test ${provider}.`,
  subject: { type: 'directory_run', id: encodeId('directory_run', runId), name: provider },
  dedupe_key: `directory.failing:${directory_id}:${kind}`,
})

export const recoveredNotice = ({
  provider,
  source_id,
  failing_since,
}: {
  provider: string
  source_id: string
  failing_since: Date | null
}): Notice => ({
  kind: 'directory.recovered',
  severity: 'info',
  title: `The directory ${provider} can be read again`,
  detail: failing_since
    ? `Reading had failed since ${failing_since.toISOString()}.`
    : 'Reading had failed for some time.',
  subject: { type: 'directory_source', id: encodeId('directory_source', source_id), name: provider },
})
