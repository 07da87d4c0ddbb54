import { useEffect, useRef, useState } from 'react'
import { messageOf } from '../../api/api-error.ts'
import { useCan, useMe } from '../../api/me.ts'
import type { UserDeed, UserRef } from '../../shell/overlay.ts'
import { type BulkOutcome, BulkResult } from '../../table/bulk-result.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { ConfirmProblem } from '../../ui/confirm-problem.tsx'
import { formatCount, formatNumber } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.tsx'
import { toast } from '../../ui/toast.tsx'
import { Working } from '../device/working.tsx'
import { nameOf, userIcon } from '../users/words.ts'
import { changeUser, refreshUsers, warningText } from './change-users.ts'
import { deedCommand, deedWords, effectsOf, ownEffect, usersNamed } from './deed-words.ts'
import { useRunning } from './use-running.ts'
import { useStoredUser } from './use-stored-user.ts'

type Props = {
  deed: UserDeed
  users: readonly UserRef[]
  onDone?: (() => void) | undefined
  onClose: () => void
}
const shownNames = 5
const typedAbove = 25

/** Asks before a change of one or more users, makes it, and shows the result of each user. */
export function ConfirmDeed({ deed, users, onDone, onClose }: Props) {
  const [only] = users.length === 1 ? users : []
  const stored = useStoredUser(only?.user_id ?? '', { enabled: only !== undefined })
  const shown = only && stored.data ? [stored.data.body] : users
  const running = useRunning(only?.user_id)
  const ownId = useMe().user?.user_id
  const { error, progress, results, run } = useRun({ deed, users: shown, etag: stored.data?.etag, onDone, onClose })
  const words = deedWords[deed]
  const named = usersNamed(shown)
  if (results)
    return (
      <BulkResult
        title={`${words.verb(named)}: results`}
        results={results}
        names={new Map(users.map((user) => [user.user_id, nameOf(user)]))}
        file={{ name: 'users-result.csv', idColumn: 'user_id' }}
        onClose={onClose}
      />
    )
  return (
    <Confirm
      title={`${words.verb(named)}${deed === 'delete' ? ' for good' : ''}?`}
      lede={words.lede}
      objects={{ names: shown.slice(0, shownNames).map(lineOf), more: Math.max(0, shown.length - shownNames) }}
      effects={[...effectsOf(deed, shown, running), ...ownEffect(deed, users, ownId)]}
      reason="optional"
      {...(users.length > typedAbove && { typed: String(users.length) })}
      keepLabel="Cancel"
      deedLabel={words.verb(named)}
      busyLabel={words.busy}
      danger={words.danger}
      command={deedCommand(deed, users)}
      problem={
        progress ? (
          <Working
            since={progress.since}
          >{`${formatNumber(progress.done)} of ${formatNumber(users.length)} users.`}</Working>
        ) : (
          error && <ConfirmProblem error={error} noun="user" reload={stored.refetch} />
        )
      }
      onConfirm={run}
      onClose={onClose}
    />
  )
}

type RunInput = Props & { etag: string | undefined }
type Progress = { since: number; done: number }

/** Changes the users one after another. Closing the question ends the run after the current user. */
function useRun({ deed, users, etag, onDone, onClose }: RunInput) {
  const can = useCan()
  const [error, setError] = useState<Error>()
  const [progress, setProgress] = useState<Progress>()
  const [results, setResults] = useState<readonly BulkOutcome[]>()
  const isClosed = useClosed()
  const canEndSignIns = can('credentials:read') && can('credentials:write')
  const runOne = async (user: UserRef, reason: string | undefined) => {
    const { changed, ended, warnings } = await changeUser(deed, user, { reason, canEndSignIns, ifMatch: etag })
    await refreshUsers()
    onDone?.()
    const text = [ended > 0 && `${formatCount(ended, 'session')} ended.`, warningText(warnings)].filter(Boolean)
    const title = changed ? deedWords[deed].done(nameOf(user)) : `${nameOf(user)}: nothing to change`
    toast({ title, ...(text.length > 0 && { text: text.join(' ') }) })
    onClose()
  }
  const runMany = async (reason: string | undefined) => {
    const [since, outcomes]: [number, BulkOutcome[]] = [Date.now(), []]
    for (const user of users) {
      if (isClosed.current) break
      setProgress({ since, done: outcomes.length })
      outcomes.push(await outcomeOf(deed, user, { reason, canEndSignIns }))
    }
    await refreshUsers()
    onDone?.()
    if (isClosed.current) return sayStopped(outcomes.length, users.length)
    setProgress(undefined)
    setResults(outcomes)
  }
  const run = async (reason: string | undefined) => {
    setError(undefined)
    try {
      await (users.length === 1 && users[0] ? runOne(users[0], reason) : runMany(reason))
    } catch (e) {
      setError(e as Error)
    }
  }
  return { error, progress, results, run }
}

const sayStopped = (done: number, all: number): void => {
  if (done < all) toast({ kind: 'bad', title: `Stopped after ${done} of ${all} users` })
}

/** Returns a reference that is true once the component has gone. */
function useClosed() {
  const isClosed = useRef(false)
  useEffect(() => {
    isClosed.current = false
    return () => {
      isClosed.current = true
    }
  }, [])
  return isClosed
}

async function outcomeOf(deed: UserDeed, user: UserRef, how: Parameters<typeof changeUser>[2]): Promise<BulkOutcome> {
  try {
    const { changed } = await changeUser(deed, user, how)
    return { id: user.user_id, outcome: changed ? 'changed' : 'unchanged' }
  } catch (e) {
    return { id: user.user_id, outcome: 'failed', error: messageOf(e) }
  }
}

const lineOf = (user: UserRef) => (
  <>
    <Icon name={userIcon(user)} size="s" />
    <span className="strong">{nameOf(user)}</span>
    {nameOf(user) !== user.username && <span className="soft trunc">{user.username}</span>}
    {user.email && <span className="push faint xs trunc">{user.email}</span>}
  </>
)
