import type { PolicyDocument } from '@holdfast/contract/policy-document'
import { type Box, flatten } from '@holdfast/policy'
import type { GatewayState } from '@holdfast/sdk'
import { edgesOf, type Found, isAllowed, numberOf, type Reach, type Seen, spokenOf } from './reach.ts'

/** What one gateway makes of its state for a moment: each peer's boxes by their place in `lists`. */
type FlattenedPeers = {
  gatewayId: string
  lists: Box[][]
  peers: [deviceId: string, list: number, mfaAt: number | undefined][]
  amiss: string[]
}
export type Connections = ReadonlyMap<string, Pick<Seen, 'source_ip' | 'country'>>

/** As an agent does: once for all peers that share a variant and the circumstances of their connection. */
export function flattenPeers(
  gatewayId: string,
  state: GatewayState | null,
  { at, found, connections }: { at: number; found: Found; connections: Connections },
): FlattenedPeers {
  const lists: Box[][] = []
  const known = new Map<string, number>()
  const out: FlattenedPeers = { gatewayId, lists, peers: [], amiss: [] }
  for (const [deviceId, peer] of state?.peers ?? []) {
    const content = state?.variants.get(peer.variant)
    if (!content || !state) continue
    const { source_ip, country } = connections.get(deviceId) ?? {}
    const mfa_at = peer.mfa_at === null ? undefined : Date.parse(peer.mfa_at)
    const key = [peer.variant, source_ip, country, mfa_at].join(' ')
    let list = known.get(key)
    if (list === undefined) {
      const connection = { ...(source_ip && { source_ip }), ...(country && { country }), ...(mfa_at && { mfa_at }) }
      const asked = { pool: state.poolId, connection, ...found }
      const { boxes, valid_until } = flatten(content, { ...asked, at })
      const untilThen = valid_until === null ? boxes : flatten(content, { ...asked, at: valid_until - 1 }).boxes
      if (JSON.stringify(untilThen) !== JSON.stringify(boxes))
        out.amiss.push(
          `${gatewayId}: the boxes of ${deviceId} change before ${new Date(valid_until ?? 0).toISOString()}`,
        )
      list = lists.push(boxes) - 1
      known.set(key, list)
    }
    out.peers.push([deviceId, list, mfa_at])
  }
  return out
}

/** The first point at which boxes say something else than the document does, or lie over each other. */
export function firstDifference(
  document: PolicyDocument,
  found: Found,
  reach: Reach,
  boxes: readonly Box[],
): string | undefined {
  const { addresses, ports } = edgesOf(document, found, boxes)
  const placed = boxes.map((box) => ({ box, first: numberOf(box.first), last: numberOf(box.last) }))
  const points = [{ protocol: 'icmp', port: null }, ...ports.flatMap((port) => tcpAndUdp(port))]
  // Addresses of which rules and boxes say the same are one question.
  const asked = new Set<string>()
  for (const address of addresses) {
    const n = numberOf(address)
    const here = placed.filter(
      ({ box, first, last }) => (box.family === 'ipv6') === address.includes(':') && first <= n && n <= last,
    )
    const spoken = spokenOf(document, found, reach, address)
    const question = JSON.stringify([spoken, here.map(({ box }) => [box.protocol, box.ports])])
    if (asked.has(question)) continue
    asked.add(question)
    for (const { protocol, port } of points) {
      const inside = here.filter(({ box }) => box.protocol === protocol && isOpen(box, port)).length
      const wanted = isAllowed(spoken, protocol, port) ? 1 : 0
      if (inside !== wanted) return `${address} ${protocol} ${port ?? ''}: expected in ${wanted} boxes, is in ${inside}`
    }
  }
  return undefined
}

const tcpAndUdp = (port: number) => ['tcp', 'udp'].map((protocol) => ({ protocol, port }))
const isOpen = ({ ports }: Box, port: number | null): boolean =>
  ports === null || port === null || (ports[0] <= port && port <= ports[1])
