import { classes } from '../../ui/classes.ts'
import { formatCount } from '../../ui/format.ts'
import type { MapNode, PolicyMap } from './policy-map.ts'

/** Height of a row in the picture; the style sheet has the same. */
const row = 28
const middle = row / 2
const width = 100

type Props = { map: PolicyMap; chosen: string | undefined; onChoose: (id: string | undefined) => void }

/** Subjects at the left, targets at the right, a line for each pair that a rule names. */
export function MapPicture({ map: { subjects, targets, edges }, chosen, onChoose }: Props) {
  const height = Math.max(subjects.length, targets.length) * row
  const [left, right] = [placesOf(subjects), placesOf(targets)]
  const denied = edges.filter(({ denies }) => denies.length > 0).length
  const sentence = `${formatCount(subjects.length, 'subject')}, ${formatCount(targets.length, 'target')}, ${formatCount(edges.length, 'line')}, ${denied} with a deny rule`
  return (
    <div className="pmap">
      <Nodes label="Subjects" nodes={subjects} chosen={chosen} onChoose={onChoose} />
      <svg
        viewBox={`0 0 ${width} ${height}`}
        height={height}
        preserveAspectRatio="none"
        role="img"
        aria-label={sentence}
      >
        {edges.map(({ from, to, denies, allows }) => {
          const [y1, y2] = [(left.get(from) ?? 0) * row + middle, (right.get(to) ?? 0) * row + middle]
          return (
            <path
              key={`${from} ${to}`}
              className={classes(
                denies.length > 0 && 'deny',
                denies.length > 0 && allows.length > 0 && 'both',
                allows.length > 0 && allows.every(({ conditions }) => conditions.length > 0) && 'cond',
                chosen !== undefined && (from === chosen || to === chosen) && 'on',
              )}
              d={`M0,${y1} C${width / 2},${y1} ${width / 2},${y2} ${width},${y2}`}
            />
          )
        })}
      </svg>
      <Nodes label="Targets" nodes={targets} chosen={chosen} onChoose={onChoose} />
    </div>
  )
}

const placesOf = (nodes: readonly MapNode[]) => new Map(nodes.map(({ id }, place) => [id, place]))

type NodesProps = { label: string; nodes: readonly MapNode[] } & Pick<Props, 'chosen' | 'onChoose'>

const Nodes = ({ label, nodes, chosen, onChoose }: NodesProps) => (
  <ul aria-label={label}>
    {nodes.map(({ id, kind, text }) => (
      <li key={id}>
        <button
          type="button"
          className={classes('tok', kind === 'group' && 'g', kind === 'tag' && 'tg')}
          aria-pressed={id === chosen}
          onClick={() => onChoose(id === chosen ? undefined : id)}
        >
          {kind === 'tag' ? `tag:${text}` : text}
        </button>
      </li>
    ))}
  </ul>
)
