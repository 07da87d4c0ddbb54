import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Badge, Tag } from '../../ui/badge.tsx'
import { CopyId } from '../../ui/copy.tsx'
import { formatWord, shortDigest } from '../../ui/format.ts'
import { Frame } from '../../ui/frame.tsx'
import { KeyValues } from '../../ui/key-values.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { type Device, systemOf } from '../devices/words.ts'
import { ExplainAccess } from './explain-access.tsx'
import { PostureChecks } from './posture-checks.tsx'
import { RecentSessions } from './sessions-tab.tsx'
import { Traffic } from './traffic.tsx'

/** Connection, posture and facts: sections in the panel, frames on the page. The page also has sessions and access. */
type Props = { device: Device; inPanel: boolean; onTab: (tab: 'sessions') => void }

export function SummaryTab({ device, inPanel, onTab }: Props) {
  const can = useCan()
  if (inPanel)
    return (
      <>
        <section className="sect">
          <h3>Connection</h3>
          <Connection device={device} />
        </section>
        <PostureChecks device={device} inPanel />
        <section className="sect">
          <h3>Device</h3>
          <Facts device={device} />
        </section>
      </>
    )
  return (
    <div className="cols">
      <div className="c8 stack">
        <Frame title="Connection">
          <Connection device={device} />
        </Frame>
        <RecentSessions device={device} onAll={() => onTab('sessions')} />
        {can('policy:read') && (
          <ExplainAccess
            key={device.device_id}
            of={{ device_id: device.device_id }}
            name={device.name}
            inPanel={false}
          />
        )}
      </div>
      <div className="c4 stack">
        <PostureChecks device={device} inPanel={false} />
        <Frame title="Device">
          <Facts device={device} />
        </Frame>
      </div>
    </div>
  )
}

function Connection({ device }: { device: Device }) {
  const { session, addresses } = device
  const can = useCan()
  const detail = useApi(
    'GET /v1/admin/sessions/{session_id}',
    { params: { session_id: session?.session_id ?? '' } },
    { enabled: session !== null && can('sessions:read') },
  ).data
  return (
    <KeyValues
      rows={[
        [
          'Session',
          session ? (
            <>
              <Status kind="ok">Running</Status> <span className="soft">since </span>
              <Timestamp at={session.started_at} className="soft" />
            </>
          ) : (
            <span className="soft">
              None. <LastSeen device={device} />
            </span>
          ),
        ],
        session !== null && [
          'Gateway',
          <>
            {can('sessions:read') ? (
              <AppLink to={`/admin/sessions?gateway_id=${session.gateway_id}`}>{session.gateway_name ?? '–'}</AppLink>
            ) : (
              (session.gateway_name ?? '–')
            )}{' '}
            <span className="soft">{session.pool_name}</span>
          </>,
        ],
        addresses.ipv4 !== null && ['Address', <CopyId id={addresses.ipv4} short={addresses.ipv4} />],
        addresses.ipv6 !== null && ['Address, v6', <CopyId id={addresses.ipv6} short={addresses.ipv6} />],
        detail !== undefined &&
          detail.source_ip !== null && [
            'From',
            <span className="mono">{[detail.source_ip, detail.source_port].filter(Boolean).join(':')}</span>,
          ],
        detail !== undefined && ['Traffic', <Traffic {...detail} />],
      ]}
    />
  )
}

const LastSeen = ({ device }: { device: Device }) =>
  device.last_seen_at === null ? (
    'Never seen since its enrollment.'
  ) : (
    <>
      Last seen <Timestamp at={device.last_seen_at} />.
    </>
  )

function Facts({ device }: { device: Device }) {
  const { policy, credential, enrolled_by, wireguard_public_key } = device
  const provider = enrolled_by.provider_name ?? enrolled_by.token_name
  return (
    <KeyValues
      rows={[
        ['Id', <CopyId id={device.device_id} />],
        [
          'User',
          device.user_id === null ? (
            <span className="faint">–</span>
          ) : (
            <AppLink to={`/admin/users/${device.user_id}`}>{device.user_name ?? device.user_id}</AppLink>
          ),
        ],
        [
          'Serial',
          device.serial === null ? <span className="faint">–</span> : <span className="mono">{device.serial}</span>,
        ],
        [
          'System',
          [systemOf(device), device.client_version && `client ${device.client_version}`].filter(Boolean).join(' · '),
        ],
        ['Policy', <Policy device={device} />],
        policy.applied_at !== null && ['Applied', <Timestamp at={policy.applied_at} />],
        wireguard_public_key !== null && [
          'WireGuard key',
          <CopyId id={wireguard_public_key} short={`${wireguard_public_key.slice(0, 8)}…`} />,
        ],
        [
          'Enrolled',
          <>
            <Timestamp at={device.enrolled_at} as="exact" />{' '}
            <span className="soft">
              by {formatWord(enrolled_by.method)}
              {provider && `, ${provider}`}
            </span>
          </>,
        ],
        [
          'Credential',
          <>
            until <Timestamp at={credential.expires_at} as="exact" />
            {device.binding === 'dpop' && <span className="soft">, bound to the key of the device (DPoP)</span>}
          </>,
        ],
        ['Groups', <Words words={device.group_names.filter((name) => name !== null)} />],
        ['Tags', <Words words={device.tags} />],
      ]}
    />
  )
}

function Policy({ device: { policy, channel, effective_channel } }: { device: Device }) {
  if (policy.digest === null) return <span className="faint">No policy yet</span>
  const isApplied = policy.digest === policy.applied_digest
  return (
    <>
      <Badge kind={effective_channel === 'canary' ? 'info' : undefined}>{effective_channel}</Badge>{' '}
      <span className="mono soft">{shortDigest(policy.digest)}</span>{' '}
      <Status kind={isApplied ? 'ok' : 'warn'}>
        {isApplied ? 'in force' : policy.applied_digest === null ? 'not confirmed' : 'behind'}
      </Status>
      {channel !== 'auto' && <span className="soft"> set by hand</span>}
    </>
  )
}

const Words = ({ words }: { words: readonly string[] }) =>
  words.length === 0 ? (
    <span className="faint">–</span>
  ) : (
    <span className="tags">
      {words.map((word) => (
        <Tag key={word}>{word}</Tag>
      ))}
    </span>
  )
