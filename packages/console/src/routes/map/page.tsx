import { useMemo } from 'react'
import { useNavigation, useSearch } from '../../navigation.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { FirstRun } from '../../ui/empty-state.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { formatCount } from '../../ui/format.ts'
import { Frame } from '../../ui/frame.tsx'
import { PageHead } from '../../ui/page-head.tsx'
import { Problem } from '../../ui/problem.tsx'
import { SkeletonLines } from '../../ui/skeleton.tsx'
import { Status } from '../../ui/status.tsx'
import { Table, type TableColumn } from '../../ui/table.tsx'
import { useJudge, useJudges } from '../what-if/use-judges.ts'
import { MapPicture } from './map-picture.tsx'
import { type MapEdge, mapOf, partOf } from './policy-map.ts'
import './map.css'

/** Lines drawn at most: more of them cannot be told apart. */
const mostLines = 600
/** Rows of the table at most. */
const mostRows = 200

/** Subjects and targets of the rules of a policy, as a picture and as a table. */
export function Page() {
  const { of: judgeId = 'stable', q = '', node } = useSearch()
  const { change } = useNavigation()
  const judges = useJudges()
  const judge = useJudge(judges, judgeId)
  const map = useMemo(() => judge.document && mapOf(judge.document), [judge.document])
  const error = judges.query.error ?? judge.error
  const isNew = judges.query.data?.items.length === 0
  const options = judges.options.filter(({ value }) => value !== 'delivered')
  return (
    <div className="page">
      <PageHead
        title="Map"
        sub={
          map &&
          `${judge.label}: ${formatCount(map.subjects.length, 'subject')}, ${formatCount(map.targets.length, 'target')}`
        }
        actions={
          <ButtonLink to="/admin/policy/edit" kind="ghost">
            Editor
          </ButtonLink>
        }
      />
      {error && (
        <Problem error={error} what="the policy" retry={() => Promise.all([judges.query.refetch(), judge.refetch()])} />
      )}
      {isNew && (
        <FirstRun
          title="No policy yet"
          sentence="The map shows the rules of a published policy, or of a draft."
          command="holdfast policy publish policy.json --channel stable"
        />
      )}
      {!map && !error && !isNew && <SkeletonLines />}
      {map && (
        <>
          <div className="duo">
            <SelectField
              label="Policy"
              options={options}
              value={judgeId}
              onChange={(value) =>
                change({ of: value === 'stable' ? undefined : value, node: undefined }, { replace: true })
              }
            />
            <TextField
              label="Filter"
              placeholder="Group, tag, user or resource"
              autoComplete="off"
              value={q}
              onChange={(value) => change({ q: value || undefined }, { replace: true })}
            />
          </div>
          <Shown key={judgeId} map={map} q={q} node={node} onChoose={(id) => change({ node: id }, { replace: true })} />
        </>
      )}
    </div>
  )
}

type ShownProps = {
  map: ReturnType<typeof mapOf>
  q: string
  node: string | undefined
  onChoose: (id: string | undefined) => void
}

function Shown({ map, q, node, onChoose }: ShownProps) {
  const shown = useMemo(() => partOf(map, { text: q }), [map, q])
  const chosen = useMemo(() => partOf(map, { text: q, chosen: node }), [map, q, node])
  const isLarge = shown.edges.length > mostLines
  return (
    <>
      <Frame
        title="Picture"
        aside={
          <span className="row tight wrap soft xs">
            <Status kind="ok">allow</Status>
            <Status kind="bad">deny</Status>
            <span>dashed: under conditions</span>
          </span>
        }
      >
        {shown.edges.length === 0 ? (
          <p className="soft">No rule matches the filter.</p>
        ) : isLarge ? (
          <p className="soft">
            {formatCount(shown.edges.length, 'line')} are too many for a picture. Filter by a group or a resource, or
            use the table.
          </p>
        ) : (
          <MapPicture map={shown} chosen={node} onChoose={onChoose} />
        )}
      </Frame>
      <Frame
        title={node === undefined ? 'Table' : `Table: ${node.replace(/^\w+ /, '')}`}
        inset={chosen.edges.length > 0 ? 'flush' : undefined}
        aside={
          <span className="soft xs">
            {chosen.edges.length > mostRows ? `first ${mostRows} of ` : ''}
            {formatCount(chosen.edges.length, 'row')}
          </span>
        }
      >
        {chosen.edges.length === 0 ? (
          <p className="soft">No rule.</p>
        ) : (
          <Table columns={columns} rows={chosen.edges.slice(0, mostRows)} keyOf={({ from, to }) => `${from} ${to}`} />
        )}
      </Frame>
    </>
  )
}

const nameOf = (id: string) => id.replace(/^(group|user|device|place|any) /, '').replace(/^tag /, 'tag:')
const rulesText = (rules: MapEdge['allows']) =>
  rules.map(({ id, conditions }) => (conditions.length === 0 ? id : `${id} (${conditions.join(', ')})`)).join(', ')

const columns: readonly TableColumn<MapEdge>[] = [
  { label: 'Subject', cell: ({ from }) => nameOf(from) },
  { label: 'Target', cell: ({ to }) => nameOf(to) },
  {
    label: 'Result',
    cell: ({ allows, denies }) =>
      denies.length > 0 ? (
        <Status kind="bad">{allows.length > 0 ? 'deny wins' : 'deny'}</Status>
      ) : (
        <Status kind="ok">
          {allows.every(({ conditions }) => conditions.length > 0) ? 'allow, conditions' : 'allow'}
        </Status>
      ),
  },
  { label: 'Rules', className: 'p3 soft', cell: ({ allows, denies }) => rulesText([...denies, ...allows]) },
]
