/**
 * Finds the cycles of a directed graph: strongly connected components of more than one node (Tarjan), and nodes with an
 * edge to themselves. Returns one shortest cycle of each component; its first node is repeated at its end.
 */
export function circlesOf(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const circles: string[][] = []
  const lower = (node: string, to: number) => low.set(node, Math.min(low.get(node)!, to))
  const visit = (node: string) => {
    index.set(node, index.size)
    low.set(node, index.get(node)!)
    stack.push(node)
    for (const next of graph.get(node) ?? []) {
      if (!index.has(next)) {
        visit(next)
        lower(node, low.get(next)!)
      } else if (stack.includes(next)) lower(node, index.get(next)!)
    }
    if (low.get(node) !== index.get(node)) return
    const component = new Set(stack.splice(stack.indexOf(node)))
    const circle = shortestCircle(graph, node, component)
    if (circle) circles.push(circle)
  }
  for (const node of graph.keys()) if (!index.has(node)) visit(node)
  return circles
}

/** Finds the shortest cycle from a node by a breadth-first search within its component. */
function shortestCircle(graph: ReadonlyMap<string, readonly string[]>, start: string, component: ReadonlySet<string>) {
  const seen = new Set<string>()
  let paths = [[start]]
  while (paths.length > 0) {
    const longer: string[][] = []
    for (const path of paths)
      for (const next of graph.get(path.at(-1)!) ?? []) {
        if (next === start) return [...path, start]
        if (seen.has(next) || !component.has(next)) continue
        seen.add(next)
        longer.push([...path, next])
      }
    paths = longer
  }
  return undefined
}
