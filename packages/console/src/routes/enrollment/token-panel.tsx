import { useCan, useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { PanelMoves, useFocusWhenOpened } from '../../table/panel-parts.tsx'
import { AppLink } from '../../ui/app-link.tsx'
import { Tag } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyId } from '../../ui/copy.tsx'
import { formatDuration } from '../../ui/format-time.ts'
import { Icon } from '../../ui/icon.tsx'
import { IconButton } from '../../ui/icon-button.tsx'
import { Kbd } from '../../ui/kbd.tsx'
import { KeyValues } from '../../ui/key-values.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { DeviceStatus } from '../devices/device-status.tsx'
import { platformWords } from '../devices/words.ts'
import { Refusal } from './arrival.tsx'
import { askToRevoke } from './token-menu.ts'
import { groupsOf, outcomeWords, type Token, tokenName, tokenStatusWords, usesInWords } from './words.ts'

type Props = {
  tokenId: string
  /** The tokens of the page, in their order. */
  ids: readonly string[]
  onMove: (id: string) => void
  onClose: () => void
}

/** One token beside the list: what was tried with it, and what it gives to devices. */
export function TokenPanel({ tokenId, ids, onMove, onClose }: Props) {
  const query = useApi('GET /v1/admin/tokens/{token_id}', { params: { token_id: tokenId } })
  const token = query.data
  const offReason = useOffReason()('enrollment_tokens:write')
  const panel = useFocusWhenOpened()
  return (
    <aside className="panel" aria-label={`Token ${token ? tokenName(token) : ''}`} ref={panel} tabIndex={-1}>
      <header>
        <div className="row between">
          <div className="row">
            <Icon name="key" />
            <h2 className="trunc">{token ? tokenName(token) : '…'}</h2>
          </div>
          <div className="row tight">
            <PanelMoves noun="token" id={tokenId} ids={ids} onMove={onMove} />
            <IconButton icon="x" label="Close panel" onClick={onClose} />
          </div>
        </div>
        {token && (
          <div className="row wrap">
            <Status kind={tokenStatusWords[token.status].kind}>{tokenStatusWords[token.status].label}</Status>
            <span className="faint">·</span>
            <span>{usesInWords(token)}</span>
            <span className="faint">·</span>
            <span className="soft">
              {token.status === 'expired' ? 'expired ' : 'expires '}
              <Timestamp at={token.expires_at} />
            </span>
          </div>
        )}
        {token?.status === 'active' && (
          <div className="row wrap">
            <Button kind="danger" size="sm" offReason={offReason} onClick={() => askToRevoke(token)}>
              Revoke…
            </Button>
          </div>
        )}
      </header>
      {query.error && !token && <Problem error={query.error} retry={query.refetch} what="this token" />}
      {!token && !query.error && <Skeleton width="w60" />}
      {token && <Body token={token} />}
      <footer className="hints" aria-hidden="true">
        <span className="hint">
          <Kbd>r</Kbd> revoke
        </span>
        <span className="hint">
          <Kbd>Esc</Kbd> close
        </span>
      </footer>
    </aside>
  )
}

const Body = ({ token }: { token: Token }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
  <section className="body" tabIndex={0} aria-label="Token">
    <section className="sect">
      <h3>Tries</h3>
      <Tries token={token} />
    </section>
    <DevicesOf token={token} />
    <section className="sect">
      <h3>What its devices get</h3>
      <KeyValues
        rows={[
          ['User', token.user_id ? (token.user_name ?? 'a deleted user') : 'none'],
          ['Groups', groupsOf(token).join(', ') || 'none'],
          ['Tags', token.tags.length > 0 ? token.tags.map((tag) => <Tag key={tag}>{tag}</Tag>) : 'none'],
          ['Approval', token.requires_approval ? 'by an administrator' : 'not needed'],
          token.ephemeral_seconds !== null && ['Revoked after', `${formatDuration(token.ephemeral_seconds)} unseen`],
        ]}
      />
    </section>
    <section className="sect">
      <h3>Who may use it</h3>
      <KeyValues
        rows={[
          ['Platforms', token.platforms.map((platform) => platformWords[platform]).join(', ') || 'all'],
          ['From addresses', token.allowed_cidrs.join(', ') || 'anywhere'],
          token.max_devices_per_user !== null && ['Devices a person', token.max_devices_per_user],
          token.kind === 'bootstrap' && ['Kind', 'for the first start of a client'],
        ]}
      />
    </section>
    <section className="sect">
      <h3>Record</h3>
      <KeyValues
        rows={[
          ['Created', <Timestamp key="at" at={token.created_at} />],
          ['Created by', token.created_by_name],
          ['Last used', <Timestamp key="used" at={token.last_used_at} empty="never" />],
          token.revoked_at !== null && ['Revoked', <Timestamp key="revoked" at={token.revoked_at} />],
          [
            'Hint',
            <span key="hint" className="mono">
              …{token.hint}
            </span>,
          ],
          ['Id', <CopyId key="id" id={token.token_id} />],
        ]}
      />
    </section>
  </section>
)

/** The newest try. Older ones stand in the audit log. */
function Tries({ token: { last_attempt: attempt, attempts_refused: refused } }: { token: Token }) {
  if (!attempt) return <p className="soft">No device has tried it.</p>
  if (attempt.outcome === 'refused') return <Refusal attempt={attempt} refused={refused} />
  const { kind, label } = outcomeWords[attempt.outcome]
  return (
    <KeyValues
      rows={[
        [
          'Last try',
          <Status key="outcome" kind={kind}>
            {label}
          </Status>,
        ],
        ['When', <Timestamp key="at" at={attempt.at} />],
        [
          'From',
          <span key="ip" className="mono">
            {attempt.source_ip}
          </span>,
        ],
        ['Platform', attempt.platform && platformWords[attempt.platform]],
        ['Refused tries', refused],
      ]}
    />
  )
}

const shownDevices = 5

function DevicesOf({ token: { token_id, uses } }: { token: Token }) {
  const can = useCan()
  const query = useApi(
    'GET /v1/admin/devices',
    { query: { token_id, sort: '-enrolled_at', limit: shownDevices } },
    { enabled: can('devices:read') && uses > 0 },
  )
  const devices = query.data?.items
  if (uses === 0 || !can('devices:read')) return null
  return (
    <section className="sect">
      <h3>Devices</h3>
      {query.error && !devices && <Problem error={query.error} retry={query.refetch} what="its devices" />}
      <ul className="arrived">
        {devices?.map((device) => (
          <li key={device.device_id}>
            <div className="row between">
              <AppLink to={`/admin/devices/${device.device_id}`}>{device.name}</AppLink>
              <DeviceStatus device={device} />
            </div>
          </li>
        ))}
      </ul>
      <AppLink to={`/admin/devices?token_id=${token_id}`}>All devices of this token</AppLink>
    </section>
  )
}
