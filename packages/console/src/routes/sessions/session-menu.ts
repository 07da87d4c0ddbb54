import type { Permission } from '@holdfast/contract/vocabulary'
import { copyCommandItem } from '../../ui/copy-command.ts'
import type { MenuItem } from '../../ui/menu-popover.tsx'
import type { Session } from './words.ts'

type Verbs = {
  off: (permission: Permission) => string | undefined
  onEnd: (session: Session) => void
  onFilter: (filter: Readonly<Record<string, string>>) => void
  onOpenDevice: (session: Session) => void
}

/** Returns the actions on a session, for its row and its panel. */
export function sessionMenu(session: Session, { off, onEnd, onFilter, onOpenDevice }: Verbs): readonly MenuItem[] {
  const { gateway_id, gateway_name, user_id, user_name } = session
  return [
    {
      id: 'device',
      label: 'Open device',
      icon: 'laptop',
      offReason: off('devices:read'),
      onSelect: () => onOpenDevice(session),
    },
    {
      id: 'gateway',
      label: `Sessions at ${gateway_name ?? 'its gateway'}`,
      icon: 'gateway',
      onSelect: () => onFilter({ gateway_id }),
    },
    ...(user_id
      ? [
          {
            id: 'user',
            label: `Sessions of ${user_name ?? 'its user'}`,
            icon: 'user' as const,
            onSelect: () => onFilter({ user_id }),
          },
        ]
      : []),
    copyItem(session),
    'line',
    {
      id: 'end',
      label: 'End session…',
      icon: 'out',
      kbd: 'E',
      danger: true,
      offReason: session.state === 'ended' ? 'The session has ended.' : off('sessions:terminate'),
      onSelect: () => onEnd(session),
    },
  ]
}

const copyItem = ({ session_id }: Session) => copyCommandItem(`holdfast session show ${session_id}`)
