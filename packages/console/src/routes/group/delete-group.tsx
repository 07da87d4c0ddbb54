import { useState } from 'react'
import { useNavigation } from '../../navigation.ts'
import type { GroupRef } from '../../shell/overlay.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { ConfirmProblem } from '../../ui/confirm-problem.tsx'
import { formatCount, formatList } from '../../ui/format.ts'
import { Icon, type IconName } from '../../ui/icon.tsx'
import { Note } from '../../ui/note.tsx'
import { toast } from '../../ui/toast.tsx'
import { isDirect } from '../groups/policy-uses.ts'
import { type PublishedUse, usePolicyUses } from '../groups/use-policy-uses.ts'
import { changeGroup } from './change-groups.ts'
import { useGroupOff } from './group-off.ts'
import { useBindings } from './use-bindings.ts'
import { useStoredGroup } from './use-stored-group.ts'
import { wordsOfUse } from './words-of-use.ts'

type Props = { group: GroupRef; onClose: () => void }
const typedAbove = 25
const shownUses = 8

/** Asks before a group is deleted, and shows its uses first. The server refuses a group that a published rule names. */
export function DeleteGroup({ group, onClose }: Props) {
  const stored = useStoredGroup(group.group_id)
  const { go } = useNavigation()
  const shown = stored.data?.body ?? group
  const { name, member_count: members = 0 } = shown
  const [error, setError] = useState<Error>()
  const off = useGroupOff()(shown)
  const policy = usePolicyUses()
  const uses = policy.of?.(shown).filter(isDirect) ?? []
  const act = async (reason: string | undefined) => {
    setError(undefined)
    try {
      const body = { operation: 'delete' as const, group_id: group.group_id }
      await changeGroup({ ...body, ...(reason !== undefined && { reason }) }, stored.data?.etag)
      toast({ title: `${name} deleted` })
      onClose()
      if (location.pathname === `/admin/groups/${group.group_id}`) go('/admin/groups', {}, { replace: true })
    } catch (e) {
      setError(e as Error)
    }
  }
  return (
    <Confirm
      title={`Delete ${name} for good?`}
      lede="This cannot be undone. The users stay."
      objects={{ names: [<GroupLine key="group" name={name} members={members} />] }}
      effects={useEffects(group.group_id, members)}
      reason="optional"
      {...(members > typedAbove && { typed: name })}
      offReason={off ?? (uses.length > 0 ? 'The published policy uses this group.' : undefined)}
      keepLabel="Keep group"
      deedLabel="Delete group"
      busyLabel="Deleting…"
      command={`holdfast group delete ${group.group_id}`}
      problem={error && <ConfirmProblem error={error} noun="group" reload={stored.refetch} />}
      onConfirm={act}
      onClose={onClose}
    >
      {uses.length > 0 && <InUse uses={uses} />}
    </Confirm>
  )
}

const GroupLine = ({ name, members }: { name: string; members: number }) => (
  <>
    <Icon name="people" size="s" />
    <span className="strong">{name}</span>
    <span className="push soft">{formatCount(members, 'member')}</span>
  </>
)

type Effect = { icon: IconName; text: string }

function useEffects(group_id: string, members: number): readonly Effect[] {
  const { tokens, providers } = useBindings(group_id)
  const [tokenCount, mapped] = [tokens.found?.length ?? 0, providers.found ?? []]
  const effects: readonly (Effect | false)[] = [
    members > 0 && {
      icon: 'user',
      text: `${formatCount(members, 'user')} ${members === 1 ? 'leaves' : 'leave'} the group`,
    },
    tokenCount > 0 && {
      icon: 'key',
      text: `${formatCount(tokenCount, 'active enrollment token')} ${tokenCount === 1 ? 'names' : 'name'} the group`,
    },
    mapped.length > 0 && {
      icon: 'globe',
      text: `${formatList([...new Set(mapped.map(({ name }) => name))])} maps users to the group`,
    },
  ]
  return effects.filter((effect) => effect !== false)
}

/** Names of the uses that make the server refuse the deletion. */
function InUse({ uses }: { uses: readonly PublishedUse[] }) {
  const names = [...new Set(uses.map((use) => `${wordsOfUse(use)} (${use.channel} v${use.version})`))]
  return (
    <Note kind="warn" icon="policy" role="status" title="The published policy uses this group.">
      <ul>
        {names.slice(0, shownUses).map((name) => (
          <li key={name}>{name}</li>
        ))}
        {names.length > shownUses && <li>and {names.length - shownUses} more</li>}
      </ul>
      <p>Publish a policy without the group first.</p>
    </Note>
  )
}
