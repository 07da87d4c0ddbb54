import type { Document } from '../../policy/difference.ts'
import { rulesOf } from '../editor/changes.ts'
import { conditionsOf, isFields, subjectsOf, type Token, targetsOf } from '../editor/rule-words.ts'

/** A subject or a target of rules. */
export type MapNode = { id: string; kind: Token['kind']; text: string }
/** Rules from one subject to one target. */
export type MapEdge = {
  from: string
  to: string
  allows: readonly MapRule[]
  denies: readonly MapRule[]
}
/** Rule of an edge, with its conditions in words. */
type MapRule = { id: string; conditions: readonly string[] }
export type PolicyMap = { subjects: readonly MapNode[]; targets: readonly MapNode[]; edges: readonly MapEdge[] }

const order: readonly Token['kind'][] = ['any', 'group', 'tag', 'user', 'device', 'place']

/**
 * Turns the rules of a document into a graph: subjects at one side, targets at the other, an edge for each pair that a
 * rule names.
 */
export function mapOf(document: Document): PolicyMap {
  const nodes = { subjects: new Map<string, MapNode>(), targets: new Map<string, MapNode>() }
  const edges = new Map<string, { from: string; to: string; allows: MapRule[]; denies: MapRule[] }>()
  const nodeOf = (side: 'subjects' | 'targets', { kind, text }: Token): MapNode => {
    const node = { id: `${kind} ${text}`, kind, text }
    nodes[side].set(node.id, node)
    return node
  }
  for (const [place, rule] of rulesOf(document).entries()) {
    if (!isFields(rule)) continue
    const shown = { id: typeof rule.id === 'string' ? rule.id : `rule ${place + 1}`, conditions: conditionsOf(rule) }
    const targets = targetsOf(rule.to).map((token) => nodeOf('targets', token))
    for (const subject of subjectsOf(rule.from).map((token) => nodeOf('subjects', token)))
      for (const target of targets) {
        const key = `${subject.id} → ${target.id}`
        const edge = edges.get(key) ?? { from: subject.id, to: target.id, allows: [], denies: [] }
        edges.set(key, edge)
        edge[rule.action === 'deny' ? 'denies' : 'allows'].push(shown)
      }
  }
  const sorted = (side: 'subjects' | 'targets') =>
    [...nodes[side].values()].sort(
      (a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || a.text.localeCompare(b.text, 'en', { numeric: true }),
    )
  return { subjects: sorted('subjects'), targets: sorted('targets'), edges: [...edges.values()] }
}

/**
 * Returns the part of a map around a node or a text: the edges of the nodes that fit, and both ends of each.
 *
 * @param chosen id of a node; undefined for all
 */
export function partOf(map: PolicyMap, { text, chosen }: { text: string; chosen?: string | undefined }): PolicyMap {
  const wanted = text.trim().toLowerCase()
  const fits = ({ text: name }: MapNode) => name.toLowerCase().includes(wanted)
  const names = new Set([...map.subjects, ...map.targets].filter(fits).map(({ id }) => id))
  const edges = map.edges.filter(
    ({ from, to }) =>
      (wanted === '' || names.has(from) || names.has(to)) && (chosen === undefined || from === chosen || to === chosen),
  )
  const ends = new Set(edges.flatMap(({ from, to }) => [from, to]))
  return {
    subjects: map.subjects.filter(({ id }) => ends.has(id)),
    targets: map.targets.filter(({ id }) => ends.has(id)),
    edges,
  }
}
