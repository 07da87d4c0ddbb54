import { useCan, useOffReason } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { Dot, SidePanel, type Walk } from '../../table/side-panel.tsx'
import { AppLink } from '../../ui/app-link.tsx'
import { Tag } from '../../ui/badge.tsx'
import { Button } from '../../ui/button.tsx'
import { CopyId } from '../../ui/copy.tsx'
import { formatDuration } from '../../ui/format-time.ts'
import { KeyValues } from '../../ui/key-values.tsx'
import { QueryView } from '../../ui/query-view.tsx'
import { ScrollRegion } from '../../ui/scroll-region.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { DeviceStatus } from '../devices/device-status.tsx'
import { platformWords } from '../devices/words.ts'
import { Refusal } from './arrival.tsx'
import { askToRevoke } from './token-menu.ts'
import { groupsOf, outcomeWords, type Token, tokenName, tokenStatusWords, usesInWords } from './words.ts'

/** Token beside the list: attempts to use it, and the settings that its devices get. */
export function TokenPanel(walk: Walk) {
  const query = useApi('GET /v1/admin/tokens/{token_id}', { params: { token_id: walk.id } })
  const token = query.data
  const offReason = useOffReason()('enrollment_tokens:write')
  return (
    <SidePanel
      {...walk}
      noun="token"
      name={token && tokenName(token)}
      icon="key"
      facts={token && <Facts token={token} />}
      actions={
        token?.status === 'active' && (
          <div className="row wrap">
            <Button kind="danger" size="sm" offReason={offReason} onClick={() => askToRevoke(token)}>
              Revoke…
            </Button>
          </div>
        )
      }
      hints={[{ keys: ['r'], does: 'revoke' }]}
    >
      <QueryView query={query} what="this token">
        {(shown) => <Body token={shown} />}
      </QueryView>
    </SidePanel>
  )
}

const Facts = ({ token }: { token: Token }) => (
  <>
    <Status kind={tokenStatusWords[token.status].kind}>{tokenStatusWords[token.status].label}</Status>
    <Dot />
    <span>{usesInWords(token)}</span>
    <Dot />
    <span className="soft">
      {token.status === 'expired' ? 'expired ' : 'expires '}
      <Timestamp at={token.expires_at} />
    </span>
  </>
)

const Body = ({ token }: { token: Token }) => (
  <ScrollRegion className="body" label="Token">
    <section className="sect">
      <h3>Attempts</h3>
      <Attempts token={token} />
    </section>
    <DevicesOf token={token} />
    <section className="sect">
      <h3>For its devices</h3>
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
      <h3>Conditions</h3>
      <KeyValues
        rows={[
          ['Platforms', token.platforms.map((platform) => platformWords[platform]).join(', ') || 'all'],
          ['From addresses', token.allowed_cidrs.join(', ') || 'anywhere'],
          token.max_devices_per_user !== null && ['Devices per person', token.max_devices_per_user],
          token.kind === 'bootstrap' && ['Kind', 'bootstrap: only starts a sign-in'],
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
  </ScrollRegion>
)

/** Newest attempt. The audit log has the older ones. */
function Attempts({ token: { last_attempt: attempt, attempts_refused: refused } }: { token: Token }) {
  if (!attempt) return <p className="soft">No device has used it yet.</p>
  if (attempt.outcome === 'refused') return <Refusal attempt={attempt} refused={refused} />
  const { kind, label } = outcomeWords[attempt.outcome]
  return (
    <KeyValues
      rows={[
        [
          'Last attempt',
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
        ['Refused attempts', refused],
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
  if (uses === 0 || !can('devices:read')) return null
  return (
    <section className="sect">
      <h3>Devices</h3>
      <QueryView query={query} what="its devices">
        {({ items }) => (
          <ul className="arrived">
            {items.map((device) => (
              <li key={device.device_id}>
                <div className="row between">
                  <AppLink to={`/admin/devices/${device.device_id}`}>{device.name}</AppLink>
                  <DeviceStatus device={device} />
                </div>
              </li>
            ))}
          </ul>
        )}
      </QueryView>
      <AppLink to={`/admin/devices?token_id=${token_id}`}>All devices of this token</AppLink>
    </section>
  )
}
