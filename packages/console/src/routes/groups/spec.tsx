import type { Column, ListSpec } from '../../table/spec.ts'
import { formatCount, formatNumber } from '../../ui/format.ts'
import { Icon } from '../../ui/icon.tsx'
import { Status } from '../../ui/status.tsx'
import { Timestamp } from '../../ui/timestamp.tsx'
import { sourceWords } from '../users/words.ts'
import type { usePolicyUses } from './use-policy-uses.ts'
import type { Group } from './words.ts'

type UsesOf = ReturnType<typeof usePolicyUses>['of']

/** Columns, filters and words of the list of groups. */
export const groupsSpec: ListSpec<Group> = {
  list: 'groups',
  kind: 'groups',
  noun: { one: 'group', many: 'groups' },
  icon: 'people',
  searchHint: 'Name',
  defaultSort: 'name',
  orderName: 'By name',
  command: 'holdfast group list',
  idOf: (group) => group.group_id,
  nameOf: ({ name }) => name,
  summaryOf: ({ member_count }) => formatCount(member_count, 'member'),
  columns: [
    { id: 'name', label: 'Name', sort: 'name', cell: ({ name }) => name },
    {
      id: 'members',
      label: 'Members',
      priority: 2,
      isNumber: true,
      cell: ({ member_count }) => (
        <span className={member_count === 0 ? 'faint' : undefined}>{formatNumber(member_count)}</span>
      ),
    },
    { id: 'source', label: 'From', priority: 3, cell: (group) => <Source group={group} /> },
    {
      id: 'description',
      label: 'Description',
      priority: 4,
      cell: ({ description }) =>
        description === '' ? <span className="faint">–</span> : <span className="soft trunc">{description}</span>,
    },
    {
      id: 'created',
      label: 'Created',
      isOptional: true,
      isNumber: true,
      sort: 'created_at',
      cell: ({ created_at }) => <Timestamp at={created_at} className="soft" />,
    },
  ],
  filters: [],
  presets: [],
}

export const Source = ({ group: { source } }: { group: Group }) => (
  <span className="row tight soft">
    {sourceWords[source]}
    {source === 'directory' && <Icon name="lock" size="s" />}
  </span>
)

/** Column with the rules of the delivered policies that use the group. The list itself does not contain them. */
export const usesColumn = (usesOf: UsesOf, hasFailed: boolean): Column<Group> => ({
  id: 'uses',
  label: 'Where used',
  priority: 2,
  cell: (group) => <RuleCount of={usesOf} group={group} hasFailed={hasFailed} />,
})

function RuleCount({ of, group, hasFailed }: { of: UsesOf; group: Group; hasFailed: boolean }) {
  if (!of && hasFailed) return <Status kind="ring">Unknown</Status>
  if (!of) return <span className="faint">…</span>
  const rules = new Set(of(group).flatMap((use) => (use.kind === 'rule' ? [use.id] : [])))
  return rules.size === 0 ? (
    <span className="faint">–</span>
  ) : (
    <span className="soft">{formatCount(rules.size, 'rule')}</span>
  )
}
