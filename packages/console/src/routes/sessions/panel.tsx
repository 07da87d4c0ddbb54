import { useApi } from '../../api/use-api.ts'
import { PanelMoves, useFocusWhenOpened } from '../../table/panel-parts.tsx'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icon.tsx'
import { IconButton } from '../../ui/icon-button.tsx'
import { Kbd } from '../../ui/kbd.tsx'
import { MenuButton, type MenuItem } from '../../ui/menu.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SkeletonRows } from '../../ui/skeleton.tsx'
import { SessionDetails } from './session-details.tsx'
import { SessionState } from './session-state.tsx'
import { type Gateway, nameOf, type Session } from './words.ts'

type Props = {
  sessionId: string
  ids: readonly string[]
  gateways: ReadonlyMap<string, Gateway>
  endOffReason: string | undefined
  menuOf: (session: Session) => readonly MenuItem[]
  onEnd: (session: Session) => void
  onMove: (id: string) => void
  onClose: () => void
}

/** One session beside the list: where it runs, what goes through it, and the policy that holds for it. */
export function SessionPanel({ sessionId, ids, gateways, endOffReason, menuOf, onEnd, onMove, onClose }: Props) {
  const query = useApi('GET /v1/admin/sessions/{session_id}', { params: { session_id: sessionId } })
  const session = query.data
  const name = session ? nameOf(session) : '…'
  const panel = useFocusWhenOpened()
  return (
    <aside className="panel" aria-label={`Session of ${name}`} ref={panel} tabIndex={-1}>
      <header>
        <div className="row between">
          <div className="row">
            <Icon name="link" />
            <h2 className="trunc">{name}</h2>
          </div>
          <div className="row tight">
            <PanelMoves noun="session" id={sessionId} ids={ids} onMove={onMove} />
            <IconButton icon="x" label="Close panel" onClick={onClose} />
          </div>
        </div>
        {session && (
          <div className="row wrap">
            <SessionState session={session} />
            <span className="faint">·</span>
            <span>{session.user_name ?? 'no user'}</span>
            <span className="faint">·</span>
            <span className="soft">{session.gateway_name ?? 'unknown gateway'}</span>
          </div>
        )}
        {session && (
          <div className="row wrap">
            <Button
              {...{ size: 'sm', kind: 'danger', icon: 'out' }}
              offReason={session.state === 'ended' ? 'The session has ended.' : endOffReason}
              onClick={() => onEnd(session)}
            >
              End session…
            </Button>
            <MenuButton label={`More actions for the session of ${name}`} items={menuOf(session)} />
          </div>
        )}
      </header>
      {query.error && (
        <Problem
          error={query.error}
          retry={query.refetch}
          what="this session"
          asOf={session && query.dataUpdatedAt}
          isRead
        />
      )}
      {!session && !query.error && <SkeletonRows columns={2} />}
      {session && <SessionDetails session={session} gateway={gateways.get(session.gateway_id)} />}
      <footer className="hints" aria-hidden="true">
        <span className="hint">
          <Kbd>e</Kbd> end
        </span>
        <span className="hint">
          <Kbd>Esc</Kbd> close
        </span>
      </footer>
    </aside>
  )
}
