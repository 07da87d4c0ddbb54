import type { OutputOf } from '../../api/client.ts'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/use-api.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { CopyId } from '../../ui/copy.tsx'
import { formatBytes, formatNumber, formatWord, shortDigest } from '../../ui/format.ts'
import { KeyValues } from '../../ui/key-values.tsx'
import { Note } from '../../ui/note.tsx'
import { Status } from '../../ui/status.tsx'
import { Duration, Timestamp } from '../../ui/timestamp.tsx'
import { postureWords } from '../devices/words.ts'
import { type Gateway, nameOf, policyOf } from './words.ts'

type Session = OutputOf<'GET /v1/admin/sessions/{session_id}'>
type Props = { session: Session; gateway: Gateway | undefined }

export function SessionDetails({ session, gateway }: Props) {
  return (
    <div className="body">
      {gateway && gateway.status !== 'healthy' && session.state === 'active' && (
        <Note
          kind={gateway.status === 'down' ? 'bad' : 'warn'}
          title={`${gateway.name} is ${formatWord(gateway.status).toLowerCase()}.`}
        >
          <p>{gateway.status_reason} The figures are those of its last report.</p>
        </Note>
      )}
      <Connection session={session} />
      <TrafficSection session={session} />
      <PolicySection session={session} gateway={gateway} />
    </div>
  )
}

function Connection({ session }: { session: Session }) {
  const { ended_at, started_at, source_ip, source_port, assigned_ip, block_until } = session
  const last = Date.parse(ended_at ?? session.last_seen_at)
  const source = source_ip && (source_ip.includes(':') ? `[${source_ip}]` : source_ip)
  return (
    <section className="sect">
      <h3>Connection</h3>
      <KeyValues
        rows={[
          [
            'Device',
            <AppLink key="d" to={`/admin/devices/${session.device_id}`}>
              {nameOf(session)}
            </AppLink>,
          ],
          ['Gateway', `${session.gateway_name ?? '–'} · ${session.pool_name ?? '–'}`],
          ['Started', <Timestamp key="s" at={started_at} />],
          ['Duration', <Duration key="l" seconds={Math.max(0, Math.round((last - Date.parse(started_at)) / 1000))} />],
          ended_at !== null && ['Ended', <Timestamp key="e" at={ended_at} />],
          ended_at !== null && ['Why it ended', formatWord(session.end_reason ?? '–')],
          block_until !== null && ['Kept out until', <Timestamp key="b" at={block_until} as="clock" />],
          ['Last report', <Timestamp key="r" at={session.last_seen_at} />],
          [
            'From',
            source && <span className="mono">{source_port === null ? source : `${source}:${source_port}`}</span>,
          ],
          ['Address', assigned_ip && <CopyId id={assigned_ip} short={assigned_ip} />],
          ['Protocol', formatWord(session.protocol)],
          ['Client', session.client_version],
          ['Signed in by', formatWord(session.auth_method)],
          ['Session', <CopyId key="i" id={session.session_id} />],
        ]}
      />
    </section>
  )
}

function TrafficSection({ session }: { session: Session }) {
  const { resources } = session
  return (
    <section className="sect">
      <h3>Traffic</h3>
      <KeyValues
        rows={[
          ['Up, from the device', `${formatBytes(session.rx_bytes)} · ${formatNumber(session.rx_packets)} packets`],
          ['Down, to the device', `${formatBytes(session.tx_bytes)} · ${formatNumber(session.tx_packets)} packets`],
          ['Denied by the policy', `${formatNumber(session.denied_packets)} packets`],
          ['Latest handshake', <Timestamp key="h" at={session.latest_handshake_at} empty="not reported" />],
        ]}
      />
      {resources.length === 0 ? (
        <p className="soft xs">The gateway reports no traffic by resource.</p>
      ) : (
        <div className="tw">
          <table className="t inset">
            <thead>
              <tr>
                <th scope="col">Resource</th>
                <th scope="col" className="n">
                  Up
                </th>
                <th scope="col" className="n">
                  Down
                </th>
              </tr>
            </thead>
            <tbody>
              {resources.map((each) => (
                <tr key={each.resource}>
                  <td>{each.resource}</td>
                  <td className="n">{formatBytes(each.rx_bytes)}</td>
                  <td className="n">{formatBytes(each.tx_bytes)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

function PolicySection({ session, gateway }: Props) {
  const can = useCan()
  const device = useApi(
    'GET /v1/admin/devices/{device_id}',
    { params: { device_id: session.device_id } },
    { enabled: can('devices:read') && session.state === 'active' },
  )
  const { mark, label } = policyOf(session, gateway)
  const now = device.data?.policy.digest
  const posture = postureWords[session.posture_verdict]
  return (
    <section className="sect">
      <h3>Policy</h3>
      <KeyValues
        rows={[
          ['Gateway enforces', <Digest key="e" digest={session.policy_digest} />],
          ['Assigned at start', <Digest key="a" digest={session.assigned_digest} />],
          now !== undefined && ['Assigned now', <Digest key="n" digest={now} />],
          ['State', mark ? <Status kind={mark}>{label}</Status> : label],
          ['Posture', posture.kind === 'ok' ? posture.label : <Status kind={posture.kind}>{posture.label}</Status>],
        ]}
      />
    </section>
  )
}

const Digest = ({ digest }: { digest: string | null }) =>
  digest === null ? <span className="faint">not reported</span> : <CopyId id={digest} short={shortDigest(digest)} />
