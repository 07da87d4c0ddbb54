import { useState } from 'react'
import { call } from '../../api/client.ts'
import { queryClient } from '../../api/query-client.ts'
import { Badge } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { ChangeProblem } from '../../ui/change-problem.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { formatCount } from '../../ui/format.ts'
import { Problem } from '../../ui/problem.tsx'
import { SkeletonRows } from '../../ui/skeleton.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { toast } from '../../ui/toast.tsx'
import { browserName, methodWords } from './browser-name.ts'
import { Section } from './section.tsx'
import { type AdminSession, type OwnSessions, sessionsRoute } from './use-own-sessions.ts'

const end = (session: AdminSession) =>
  call('POST /v1/admin/auth/sessions/{session_id}/end', { params: { session_id: session.session_id }, body: {} })
const refresh = () => queryClient.invalidateQueries({ queryKey: [sessionsRoute] })

/** Sessions of the signed-in person. */
export function SessionsSection({ sessions: { query } }: { sessions: OwnSessions }) {
  const [isAsking, setAsking] = useState(false)
  const sessions = query.data?.items
  const others = sessions?.filter((session) => !session.current) ?? []
  return (
    <Section id="sessions" title="Sessions" aside={sessions && formatCount(sessions.length, 'session')}>
      {query.error && (
        <div className="in">
          <Problem
            error={query.error}
            retry={query.refetch}
            what="your sessions"
            asOf={sessions && query.dataUpdatedAt}
          />
        </div>
      )}
      {(sessions || !query.error) && <SessionTable sessions={sessions} />}
      <div className="in row wrap">
        <Button
          kind="danger"
          offReason={others.length === 0 ? 'There is no other session.' : undefined}
          onClick={() => setAsking(true)}
        >
          End all other sessions…
        </Button>
      </div>
      {isAsking && <EndOthers others={others} onClose={() => setAsking(false)} />}
    </Section>
  )
}

function SessionTable({ sessions }: { sessions: readonly AdminSession[] | undefined }) {
  return (
    <div className="tw" aria-busy={sessions === undefined}>
      <table className="t inset">
        <thead>
          <tr>
            <th scope="col">Browser</th>
            <th scope="col" className="p2">
              From
            </th>
            <th scope="col" className="p3">
              Signed in by
            </th>
            <th scope="col" className="p3">
              Since
            </th>
            <th scope="col" className="n">
              Last seen
            </th>
            <th scope="col" className="x">
              <span className="vh">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {sessions ? (
            sessions.map((session) => <SessionRow key={session.session_id} session={session} />)
          ) : (
            <SkeletonRows columns={6} rows={2} />
          )}
        </tbody>
      </table>
    </div>
  )
}

function SessionRow({ session }: { session: AdminSession }) {
  const browser = browserName(session.user_agent)
  const act = async () => {
    try {
      await end(session)
      toast({ title: `Session of ${browser} ended` })
    } catch (e) {
      toast({ kind: 'bad', title: `The session of ${browser} was not ended`, text: (e as Error).message })
    }
    await refresh()
  }
  return (
    <tr>
      <td>
        <div className="row">
          <span title={session.user_agent ?? undefined}>{browser}</span>
          {session.current && <Badge>this one</Badge>}
        </div>
      </td>
      <td className="p2 mono soft">{session.source_ip ?? '–'}</td>
      <td className="p3 soft">{methodWords(session.auth_method)}</td>
      <td className="p3 soft">
        <Timestamp at={session.started_at} />
      </td>
      <td className="n soft">
        <Timestamp at={session.last_seen_at} />
      </td>
      <td className="x">
        {!session.current && (
          <div className="acts">
            <Button size="sm" kind="ghost" busyLabel="Ending…" onClick={act}>
              End <span className="vh">session of {`${browser}, ${session.source_ip ?? 'address unknown'}`}</span>
            </Button>
          </div>
        )}
      </td>
    </tr>
  )
}

const shownNames = 5

function EndOthers({ others, onClose }: { others: readonly AdminSession[]; onClose: () => void }) {
  const [error, setError] = useState<Error>()
  const count = formatCount(others.length, 'other session')
  const act = async () => {
    const results = await Promise.allSettled(others.map(end))
    await refresh()
    const failed = results.find((result) => result.status === 'rejected')
    if (failed) return setError(failed.reason as Error)
    toast({ title: `${count} ended` })
    onClose()
  }
  return (
    <Confirm
      title={`End ${count}?`}
      objects={{
        names: others.slice(0, shownNames).map((s) => `${browserName(s.user_agent)}, ${s.source_ip ?? 'no address'}`),
        more: Math.max(0, others.length - shownNames),
      }}
      effects={[
        { icon: 'out', text: 'These browsers are signed out at once.' },
        { icon: 'check', text: 'This session and your API keys stay active.' },
      ]}
      keepLabel="Keep sessions"
      deedLabel={`End ${count}`}
      busyLabel="Ending…"
      problem={error && <ChangeProblem error={error} />}
      onConfirm={act}
      onClose={onClose}
    />
  )
}
