import { useApi } from '../../api/use-api.ts'
import { Dot, SidePanel, type Walk } from '../../table/side-panel.tsx'
import { Button } from '../../ui/button.tsx'
import { MenuButton } from '../../ui/menu.tsx'
import type { MenuItem } from '../../ui/menu-popover.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { SessionDetails } from './session-details.tsx'
import { SessionState } from './session-state.tsx'
import { type Gateway, nameOf, type Session } from './words.ts'

type Props = Walk & {
  gateways: ReadonlyMap<string, Gateway>
  endOffReason: string | undefined
  menuOf: (session: Session) => readonly MenuItem[]
  onEnd: (session: Session) => void
}

/** Session beside the list: its connection, traffic and policy. */
export function SessionPanel({ gateways, endOffReason, menuOf, onEnd, ...walk }: Props) {
  const query = useApi('GET /v1/admin/sessions/{session_id}', { params: { session_id: walk.id } })
  const session = query.data
  const name = session && nameOf(session)
  return (
    <SidePanel
      {...walk}
      noun="session"
      label={`Session of ${name ?? '…'}`}
      name={name}
      icon="link"
      facts={
        session && (
          <>
            <SessionState session={session} />
            <Dot />
            <span>{session.user_name ?? 'no user'}</span>
            <Dot />
            <span className="soft">{session.gateway_name ?? 'unknown gateway'}</span>
          </>
        )
      }
      actions={
        session && (
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
        )
      }
      hints={[{ keys: ['e'], does: 'end' }]}
    >
      <QueryView query={query} what="this session">
        {(shown) => <SessionDetails session={shown} gateway={gateways.get(shown.gateway_id)} />}
      </QueryView>
    </SidePanel>
  )
}
