import type { ListSpec } from '../../table/spec.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { formatBytes, formatWord, shortDigest } from '../../ui/format.ts'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { SessionState } from './session-state.tsx'
import { cliOptions, type Gateway, nameOf, policyOf, type Session } from './words.ts'

type Options = { gateways: ReadonlyMap<string, Gateway>; shown: readonly Session[] }
type Named = Record<'gateway' | 'pool' | 'user' | 'device', Map<string, string>>

/** Columns, filters and words of the list of VPN sessions. */
export function sessionsSpec({ gateways, shown }: Options): ListSpec<Session> {
  const names = namesOf(gateways, shown)
  const options = (of: Map<string, string>) =>
    Array.from(of, ([value, label]) => ({ value, label })).sort((a, b) => a.label.localeCompare(b.label))
  return {
    ...basics,
    columns: [
      { id: 'device', label: 'Device', cell: nameOf },
      {
        id: 'user',
        label: 'User',
        priority: 2,
        cell: (session) => <span className="soft trunc">{session.user_name ?? '–'}</span>,
      },
      {
        id: 'gateway',
        label: 'Gateway',
        priority: 2,
        cell: (session) => <span className="trunc">{session.gateway_name ?? '–'}</span>,
      },
      {
        id: 'pool',
        label: 'Pool',
        priority: 4,
        cell: (session) => <span className="soft trunc">{session.pool_name ?? '–'}</span>,
      },
      { id: 'state', label: 'State', cell: (session) => <SessionState session={session} /> },
      ...trafficColumns,
      {
        id: 'policy',
        label: 'Policy',
        priority: 4,
        cell: (session) => <Policy session={session} gateway={gateways.get(session.gateway_id)} />,
      },
      ...moreColumns,
      {
        id: 'since',
        label: 'Since',
        priority: 2,
        isNumber: true,
        sort: 'started_at',
        cell: (session) => <Timestamp at={session.started_at} className="soft" />,
      },
    ],
    filters: [
      {
        name: 'state',
        label: 'State',
        options: [
          { value: 'ended', label: 'Ended' },
          { value: 'all', label: 'Active or ended' },
        ],
      },
      { name: 'gateway_id', label: 'Gateway', options: options(names.gateway) },
      { name: 'pool_id', label: 'Pool', options: options(names.pool) },
      { name: 'user_id', label: 'User', options: options(names.user) },
      { name: 'device_id', label: 'Device', options: options(names.device) },
    ],
  }
}

const basics: Omit<ListSpec<Session>, 'columns' | 'filters'> = {
  list: 'sessions',
  kind: 'sessions',
  noun: { one: 'session', many: 'sessions' },
  icon: 'link',
  defaultSort: '-started_at',
  orderName: 'Newest first',
  command: 'holdfast session list',
  options: cliOptions,
  idOf: (session) => session.session_id,
  nameOf,
  isGone: (session) => session.state === 'ended',
  summaryOf: (session) => (
    <>
      {session.user_name ?? 'no user'} · {session.gateway_name ?? 'no gateway'} · <Timestamp at={session.started_at} />
    </>
  ),
  allLabel: 'Active',
  presets: [
    { label: 'Ended', filters: { state: 'ended' } },
    { label: 'Active and ended', filters: { state: 'all' } },
  ],
}

const trafficColumns: ListSpec<Session>['columns'] = [
  {
    id: 'up',
    label: 'Up',
    priority: 3,
    isNumber: true,
    cell: (session) => formatBytes(session.rx_bytes),
  },
  {
    id: 'down',
    label: 'Down',
    priority: 3,
    isNumber: true,
    cell: (session) => formatBytes(session.tx_bytes),
  },
]

const moreColumns: ListSpec<Session>['columns'] = [
  {
    id: 'source',
    label: 'Source',
    priority: 5,
    cell: (session) => <span className="mono soft">{session.source_ip ?? '–'}</span>,
  },
  {
    id: 'address',
    label: 'Address',
    isOptional: true,
    cell: (session) => <span className="mono soft">{session.assigned_ip ?? '–'}</span>,
  },
  {
    id: 'client',
    label: 'Client',
    isOptional: true,
    isNumber: true,
    cell: (session) => session.client_version ?? '–',
  },
  {
    id: 'protocol',
    label: 'Protocol',
    isOptional: true,
    cell: (session) => <span className="soft">{formatWord(session.protocol)}</span>,
  },
  {
    id: 'denied',
    label: 'Denied',
    isOptional: true,
    isNumber: true,
    cell: (session) => session.denied_packets,
  },
  {
    id: 'device_page',
    label: 'Device page',
    isOptional: true,
    cell: (session) => <AppLink to={`/admin/devices/${session.device_id}`}>{nameOf(session)}</AppLink>,
  },
]

/** Digest that the gateway enforces; a word only if it is not the expected one. */
function Policy({ session, gateway }: { session: Session; gateway: Gateway | undefined }) {
  const { mark, label } = policyOf(session, gateway)
  if (session.policy_digest === null) return <span className="faint">{label}</span>
  return (
    <span className="row tight">
      <span className="mono soft">{shortDigest(session.policy_digest)}</span>
      {mark ? <Status kind={mark}>{label}</Status> : <span className="soft">{label}</span>}
    </span>
  )
}

/** Returns the choices of the filters: all gateways and pools that the caller may see, and the users of the page. */
function namesOf(gateways: Options['gateways'], shown: readonly Session[]): Named {
  const names: Named = { gateway: new Map(), pool: new Map(), user: new Map(), device: new Map() }
  for (const { gateway_id, name, pool_id, pool_name } of gateways.values()) {
    names.gateway.set(gateway_id, name)
    names.pool.set(pool_id, pool_name)
  }
  for (const session of shown) {
    names.gateway.set(session.gateway_id, session.gateway_name ?? session.gateway_id)
    names.pool.set(session.pool_id, session.pool_name ?? session.pool_id)
    names.device.set(session.device_id, nameOf(session))
    if (session.user_id) names.user.set(session.user_id, session.user_name ?? session.user_id)
  }
  return names
}
