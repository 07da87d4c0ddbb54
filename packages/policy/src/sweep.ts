import { type AddressRange, everyAddress } from './network.ts'
import { intersectPorts, type PortRange, type Ports, subtractPorts, unitePorts } from './ports.ts'

/** Ports that are open or shut on a range of addresses. `log`: the rule that requires a log entry. */
export type Plot = { readonly range: AddressRange; readonly ports: Ports; readonly log: string | null }
export type Rectangle = { readonly range: AddressRange; readonly ports: PortRange; readonly log: readonly string[] }

type Piece = { readonly ports: Ports; readonly log: readonly string[] }
type Open = { readonly lo: bigint; readonly ports: PortRange; readonly log: readonly string[] }

/**
 * Returns everything that is opened and not shut, as rectangles that do not overlap. It scans the addresses. A range of
 * ports that stays the same across adjacent stretches is one rectangle. The result depends only on the set, not on how
 * it was described.
 */
export function sweep(opened: readonly Plot[], shut: readonly Plot[]): Rectangle[] {
  const out: Rectangle[] = []
  const families = everyAddress.map(({ hi }) => hi)
  const starts = [...opened, ...shut].sort((a, b) => (a.range.lo < b.range.lo ? -1 : a.range.lo > b.range.lo ? 1 : 0))
  const isShut = new Set(shut)
  const active = { opened: new Set<Plot>(), shut: new Set<Plot>() }
  let open = new Map<string, Open>()
  let next = 0
  for (const at of edgesOf(starts)) {
    for (const list of [active.opened, active.shut]) for (const plot of list) if (plot.range.hi < at) list.delete(plot)
    for (let plot = starts[next]; plot && plot.range.lo === at; plot = starts[++next])
      (isShut.has(plot) ? active.shut : active.opened).add(plot)

    // The families are adjacent on the line, but no rectangle spans both.
    const before = families.includes(at - 1n) ? new Map<string, Open>() : open
    const now = new Map<string, Open>()
    for (const { ports, log } of piecesOf(active.opened, active.shut))
      for (const range of ports) {
        const key = `${range[0]}-${range[1]} ${log.join(' ')}`
        now.set(key, before.get(key) ?? { lo: at, ports: range, log })
      }
    for (const [key, { lo, ports, log }] of open)
      if (now.get(key)?.lo !== lo) out.push({ range: { lo, hi: at - 1n }, ports, log })
    open = now
  }
  return out.sort(byPlace)
}

/** Returns the points where a plot begins or has just ended, ascending. */
function edgesOf(plots: readonly Plot[]): bigint[] {
  const edges = new Set<bigint>()
  for (const { range } of plots) edges.add(range.lo).add(range.hi + 1n)
  return [...edges].sort((a, b) => (a < b ? -1 : 1))
}

const byPlace = (a: Rectangle, b: Rectangle): number =>
  a.range.lo < b.range.lo ? -1 : a.range.lo > b.range.lo ? 1 : a.ports[0] - b.ports[0]

/** Returns the remaining ports, split by the rules that require a log entry. */
function piecesOf(opened: ReadonlySet<Plot>, shut: ReadonlySet<Plot>): readonly Piece[] {
  if (opened.size === 0) return []
  let left: Ports = []
  for (const { ports } of opened) left = left.length === 0 ? ports : unitePorts(left, ports)
  for (const { ports } of shut) left = subtractPorts(left, ports)
  let pieces: Piece[] = [{ ports: left, log: [] }]
  const logging = new Map<string, Ports>()
  for (const { log, ports } of opened) if (log !== null) logging.set(log, unitePorts(logging.get(log) ?? [], ports))
  for (const rule of [...logging.keys()].sort()) {
    const ports = logging.get(rule) ?? []
    const apart = pieces.flatMap((piece) => [
      { ports: subtractPorts(piece.ports, ports), log: piece.log },
      { ports: intersectPorts(piece.ports, ports), log: [...piece.log, rule] },
    ])
    // Most pieces are empty. Without those there are no more pieces than ranges of ports.
    pieces = apart.filter((piece) => piece.ports.length > 0)
  }
  return pieces
}
