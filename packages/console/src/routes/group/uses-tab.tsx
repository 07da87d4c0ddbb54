import type { ReactNode } from 'react'
import { useCan } from '../../api/me.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Badge } from '../../ui/badge.tsx'
import { Icon, type IconName } from '../../ui/icon.tsx'
import { Part } from '../../ui/part.tsx'
import { NoPermission } from '../../ui/problem.tsx'
import { type QueryState, QueryView } from '../../ui/query-view.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { type PublishedUse, usePolicyUses } from '../groups/use-policy-uses.ts'
import type { TabProps } from './tab.ts'
import { useBindings } from './use-bindings.ts'
import { wordsOfUse } from './words-of-use.ts'

/** Uses of the group: rules of the delivered policies, tokens, providers and locks. */
export function UsesTab({ group, inPanel }: TabProps) {
  const can = useCan()
  const { tokens, providers, locks } = useBindings(group.group_id)
  return (
    <>
      <Part title="Policy" inPanel={inPanel}>
        <PolicyUses group={group} />
      </Part>
      <Part title="Enrollment tokens" inPanel={inPanel}>
        <Found
          of={tokens}
          permission="enrollment_tokens:read"
          what="enrollment tokens"
          none="No active token names the group."
        >
          {({ token_id, name, expires_at }) => (
            <Line
              key={token_id}
              icon="key"
              to={`/admin/enrollment?open=${token_id}`}
              name={name}
              sub="its devices join"
            >
              {expires_at && (
                <>
                  expires <Timestamp at={expires_at} />
                </>
              )}
            </Line>
          )}
        </Found>
      </Part>
      {can('settings:read') && (
        <Part title="Identity providers" inPanel={inPanel}>
          <Found
            of={providers}
            permission="settings:read"
            what="identity providers"
            none="No provider maps to the group."
          >
            {({ provider_id, name, value }) => (
              <Line key={`${provider_id} ${value}`} icon="globe" name={name} sub={`users with ${value} join`} />
            )}
          </Found>
        </Part>
      )}
      {can('incidents:read') && locks.found && locks.found.length > 0 && (
        <Part title="Locks" inPanel={inPanel}>
          <ul className="objects">
            {locks.found.map(({ lock_id, reason }) => (
              <Line key={lock_id} icon="lock" name="All devices of the group are locked" sub={reason} />
            ))}
          </ul>
        </Part>
      )}
    </>
  )
}

function PolicyUses({ group }: Pick<TabProps, 'group'>) {
  const { mayRead, of, canary, ...query } = usePolicyUses()
  if (!mayRead) return <NoPermission what="the policy" permission="policy:read" />
  const isRollout = canary?.rollout.group_ids.includes(group.group_id) ?? false
  return (
    <QueryView query={{ ...query, data: of?.(group) }} what="the policy">
      {(uses) => (
        <>
          {uses.length === 0 && !isRollout ? (
            <p className="soft">No published rule names the group.</p>
          ) : (
            <ul className="objects">
              {uses.map((use) => (
                <UseLine
                  key={`${use.channel} ${use.kind} ${use.id} ${'part' in use ? `${use.part} ${use.through}` : ''}`}
                  use={use}
                />
              ))}
              {isRollout && canary && (
                <Line
                  icon="branch"
                  to="/admin/policy"
                  name={`Canary v${canary.version}`}
                  sub="is rolled out to the group"
                />
              )}
            </ul>
          )}
          <p className="soft xs">
            Rules are found by the present name and the id of the group. A rule that was published with an earlier name
            is not listed here. A deletion is refused while one exists.
          </p>
        </>
      )}
    </QueryView>
  )
}

const UseLine = ({ use }: { use: PublishedUse }) => (
  <Line
    icon="policy"
    to={`/admin/policy/history?open=${use.bundle_id}`}
    name={wordsOfUse(use)}
    sub={
      use.kind === 'rule' && use.through !== undefined ? `through the group ${use.through} of the policy` : undefined
    }
  >
    <Badge kind={use.channel === 'canary' ? 'info' : undefined}>
      {use.channel} v{use.version}
    </Badge>
  </Line>
)

type LineProps = { icon: IconName; to?: string; name: string; sub?: string | undefined; children?: ReactNode }

const Line = ({ icon, to, name, sub, children }: LineProps) => (
  <li>
    <Icon name={icon} size="s" />
    {to ? (
      <AppLink className="rowlink" to={to}>
        {name}
      </AppLink>
    ) : (
      <span>{name}</span>
    )}
    {sub && <span className="soft trunc">{sub}</span>}
    <span className="push soft xs">{children}</span>
  </li>
)

type FoundProps<T> = {
  of: { query: QueryState<{ next_cursor: string | null }>; found: readonly T[] | undefined }
  permission: 'enrollment_tokens:read' | 'settings:read'
  what: string
  none: string
  children: (one: T) => ReactNode
}

/** Entries of a list that name the group. Says so if the list is longer than what was read. */
const Found = <T,>({ of: { query, found }, permission, what, none, children }: FoundProps<T>) => (
  <QueryView query={query} what={what} permission={permission}>
    {({ next_cursor }) => (
      <>
        {found && found.length > 0 ? (
          <ul className="objects">{found.map(children)}</ul>
        ) : (
          <p className="soft">{none}</p>
        )}
        {next_cursor !== null && <p className="soft xs">Only the newest 200 {what} were searched.</p>}
      </>
    )}
  </QueryView>
)
