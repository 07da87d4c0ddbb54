import type { ListSpec } from '../../table/spec.ts'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { groupsOf, outcomeWords, type Token, tokenName, tokenStatusWords, usesOf } from './words.ts'

/** Columns, filters and words of the list of enrollment tokens. */
export const tokensSpec: ListSpec<Token> = {
  list: 'tokens',
  kind: 'tokens',
  noun: { one: 'token', many: 'tokens' },
  icon: 'key',
  searchHint: 'Name',
  defaultSort: '-created_at',
  orderName: 'Newest first',
  command: 'holdfast token list',
  idOf: (token) => token.token_id,
  nameOf: tokenName,
  isGone: (token) => token.status !== 'active',
  summaryOf: (token) => (
    <>
      {usesOf(token)} · <Expiry token={token} />
    </>
  ),
  columns: [
    { id: 'name', label: 'Name', sort: 'name', cell: tokenName },
    {
      id: 'status',
      label: 'Status',
      cell: ({ status }) =>
        status === 'active' ? <span className="soft">Active</span> : <Status {...statusOf(status)} />,
    },
    { id: 'uses', label: 'Uses', priority: 2, isNumber: true, cell: usesOf },
    {
      id: 'expires',
      label: 'Expires',
      priority: 2,
      isNumber: true,
      sort: 'expires_at',
      cell: (token) => <Expiry token={token} />,
    },
    {
      id: 'groups',
      label: 'Groups',
      priority: 4,
      cell: (token) => <span className="soft trunc">{groupsOf(token).join(', ') || '–'}</span>,
    },
    {
      id: 'user',
      label: 'User',
      priority: 4,
      cell: (token) => <span className="soft trunc">{token.user_name ?? '–'}</span>,
    },
    {
      id: 'attempt',
      label: 'Last attempt',
      priority: 3,
      cell: ({ last_attempt: attempt }) => <LastAttempt attempt={attempt} />,
    },
    {
      id: 'by',
      label: 'Created by',
      priority: 5,
      cell: (token) => <span className="soft trunc">{token.created_by_name ?? '–'}</span>,
    },
    {
      id: 'hint',
      label: 'Hint',
      isOptional: true,
      cell: (token) => <span className="mono soft">…{token.hint}</span>,
    },
    {
      id: 'tags',
      label: 'Tags',
      isOptional: true,
      cell: (token) => <span className="soft trunc">{token.tags.join(', ') || '–'}</span>,
    },
    {
      id: 'created',
      label: 'Created',
      priority: 5,
      isNumber: true,
      sort: 'created_at',
      cell: (token) => <Timestamp at={token.created_at} className="soft" />,
    },
  ],
  filters: [
    {
      name: 'status',
      label: 'Status',
      options: Object.entries(tokenStatusWords).map(([value, { label }]) => ({ value, label })),
    },
  ],
  presets: [
    { label: 'Active', filters: { status: 'active' } },
    { label: 'Expired', filters: { status: 'expired' } },
    { label: 'Used up', filters: { status: 'exhausted' } },
  ],
}

const statusOf = (status: Token['status']) => {
  const { kind, label } = tokenStatusWords[status]
  return { kind, children: label }
}

const Expiry = ({ token }: { token: Token }) => <Timestamp at={token.expires_at} className="soft" />

function LastAttempt({ attempt }: { attempt: Token['last_attempt'] }) {
  if (!attempt) return <span className="faint">never used</span>
  const { kind, label } = outcomeWords[attempt.outcome]
  return (
    <span className="row tight">
      {attempt.outcome === 'enrolled' ? <span className="soft">{label}</span> : <Status kind={kind}>{label}</Status>}
      <Timestamp at={attempt.at} className="soft" />
    </span>
  )
}
