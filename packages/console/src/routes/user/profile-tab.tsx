import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { Badge, Tag } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyId } from '../../ui/copy.tsx'
import { Icon } from '../../ui/icon.tsx'
import { KeyValues } from '../../ui/key-values.tsx'
import { Part } from '../../ui/part.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { Activity } from '../device/activity.tsx'
import { UserStatus } from '../users/user-status.tsx'
import { nameOf, roleWords, sourceWords, type User } from '../users/words.ts'
import { DevicesOfUser } from './devices-tab.tsx'
import type { TabProps } from './tab.ts'

const recent = 5

type Props = TabProps & { onTab: (tab: 'devices' | 'access' | 'activity') => void }

/** Account, devices, access and the latest events. */
export function ProfileTab({ user, inPanel, onTab }: Props) {
  const can = useCan()
  const account = (
    <Part title="Account" inPanel={inPanel}>
      <Account user={user} />
    </Part>
  )
  const devices = (
    <Part
      title="Devices"
      inPanel={inPanel}
      aside={
        <Button kind="ghost" size="sm" onClick={() => onTab('devices')}>
          All devices
        </Button>
      }
    >
      <DevicesOfUser user={user} limit={recent} />
    </Part>
  )
  const access = (
    <Part title="Access" inPanel={inPanel}>
      <Access user={user} />
      {can('policy:read') && (
        <div>
          <Button size="sm" onClick={() => onTab('access')}>
            What can {nameOf(user)} reach?
          </Button>
        </div>
      )}
    </Part>
  )
  const activity = can('audit:read') && (
    <Part
      title="Recent activity"
      inPanel={inPanel}
      aside={
        <Button kind="ghost" size="sm" onClick={() => onTab('activity')}>
          All activity
        </Button>
      }
    >
      <Activity of={{ target_id: user.user_id }} noun="user" limit={recent} />
    </Part>
  )
  if (inPanel)
    return (
      <>
        {account}
        {devices}
        {access}
        {activity}
      </>
    )
  return (
    <div className="cols">
      {/* First, since it is there at once: what loads later moves nothing. */}
      <div className="c4 stack">
        {account}
        {access}
      </div>
      <div className="c8 stack">
        {devices}
        {activity}
      </div>
    </div>
  )
}

const Account = ({ user }: { user: User }) => (
  <>
    <KeyValues
      rows={[
        ['Status', <UserStatus key="status" user={user} />],
        ['Username', user.username],
        ['E-mail', user.email ?? undefined],
        ['Kind', user.kind === 'service' ? 'Service account' : 'Person'],
        ['From', sourceWords[user.source]],
        user.external_id !== null && ['External id', <CopyId key="external" id={user.external_id} />],
        ['Id', <CopyId key="id" id={user.user_id} />],
        ['Created', <Timestamp key="created" at={user.created_at} as="exact" />],
        ['Last sign-in', <Timestamp key="login" at={user.last_login_at} empty="never" />],
      ]}
    />
    {user.source === 'directory' && (
      <p className="soft xs row tight">
        <Icon name="lock" size="s" />
        <span>Name and e-mail come from the directory and are changed there.</span>
      </p>
    )}
  </>
)

function Access({ user }: { user: User }) {
  const isPerson = user.kind === 'person'
  return (
    <KeyValues
      rows={[
        [
          'Admin roles',
          user.roles.length === 0 ? (
            <span className="faint">none</span>
          ) : (
            <span className="tags">
              {user.roles.map((role) => (
                <Badge key={role}>{roleWords(role)}</Badge>
              ))}
            </span>
          ),
        ],
        [
          'Groups',
          user.group_ids.length === 0 ? (
            <span className="faint">none</span>
          ) : (
            <span className="tags">
              {user.group_ids.map((id, i) => (
                <Tag key={id}>{user.group_names[i] ?? id}</Tag>
              ))}
            </span>
          ),
        ],
        isPerson && ['Second factor', <FactorWords key="factor" user={user} />],
        isPerson && ['Password', <PasswordWords key="password" user={user} />],
        isPerson && ['Identities', <Identities key="identities" user={user} />],
        user.break_glass && ['Break glass', 'Signs in with a password while single sign-on is enforced'],
      ]}
    />
  )
}

/** Second factor of a user, with the time since when it is on. */
export const FactorWords = ({ user: { mfa } }: { user: User }) =>
  mfa.enabled ? (
    <>
      Authenticator app{' '}
      <span className="soft">
        since <Timestamp at={mfa.enrolled_at} />
      </span>
    </>
  ) : (
    <span className="soft">none</span>
  )

export const PasswordWords = ({ user: { password_set, source } }: { user: User }) =>
  password_set ? (
    'Set'
  ) : (
    <span className="soft">
      {source === 'local' ? 'none' : `none, signs in through the ${source === 'sso' ? 'provider' : 'directory'}`}
    </span>
  )

function Identities({ user }: { user: User }) {
  const { data } = useApi('GET /v1/admin/users/{user_id}/identities', { params: { user_id: user.user_id } })
  if (!data) return <span className="faint">…</span>
  if (data.items.length === 0) return <span className="soft">none</span>
  return data.items.map(({ provider_id, provider_name, subject }) => (
    <div key={`${provider_id} ${subject}`}>
      {provider_name} <span className="mono soft">{subject.slice(0, 8)}…</span>
    </div>
  ))
}
