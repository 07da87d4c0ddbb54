import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { PolicyDocument } from '@holdfast/contract/policy-document'
import { type Box, flatten } from '@holdfast/policy'
import type { GatewayState } from '@holdfast/sdk'
import { edgesOf, type Found, isAllowed, matchingRules, numberOf, type Reach, type Seen } from './reach.ts'

/** The flattened state of one gateway at one time. Each peer refers to its boxes by index in `lists`. */
type FlattenedPeers = {
  gatewayId: string
  lists: Box[][]
  peers: [deviceId: string, list: number, mfaAt: number | undefined][]
  differences: string[]
}
export type Connections = ReadonlyMap<string, Pick<Seen, 'source_ip' | 'country'>>

/** Longest time, in ms, that flattening blocks its process; gateways pull and send heartbeats in between. */
const sliceMs = 20

/**
 * Flattened boxes for the time `flattenedAt`, by content, pool and circumstances. Gateways with the same content share
 * them.
 */
const flattened = new Map<string, Flattened>()
let flattenedAt = 0
type Flattened = { boxes: Box[]; changesBefore: string | undefined }
const contents = new WeakMap<object, string>()
const numbers = new Map<string, string>()

/** A short name of a content; equal contents get the same name. */
function nameOf(content: object): string {
  const known = contents.get(content)
  if (known) return known
  const text = createHash('sha256').update(JSON.stringify(content)).digest('base64')
  const name = numbers.get(text) ?? String(numbers.size)
  numbers.set(text, name)
  contents.set(content, name)
  return name
}

/** Flattens as an agent does: once for all peers that share a variant and the circumstances of their connection. */
export async function flattenPeers(
  gatewayId: string,
  state: GatewayState | null,
  { at, found, connections }: { at: number; found: Found; connections: Connections },
): Promise<FlattenedPeers> {
  if (at !== flattenedAt) flattened.clear()
  flattenedAt = at
  let sliceEnd = performance.now() + sliceMs
  const lists: Box[][] = []
  const known = new Map<string, number>()
  const out: FlattenedPeers = { gatewayId, lists, peers: [], differences: [] }
  for (const [deviceId, peer] of state?.peers ?? []) {
    const content = state?.variants.get(peer.variant)
    if (!content || !state) continue
    const { source_ip, country } = connections.get(deviceId) ?? {}
    const mfa_at = peer.mfa_at === null ? undefined : Date.parse(peer.mfa_at)
    const key = [nameOf(content), state.poolId, source_ip, country, mfa_at].join(' ')
    let list = known.get(key)
    if (list === undefined) {
      const connection = { ...(source_ip && { source_ip }), ...(country && { country }), ...(mfa_at && { mfa_at }) }
      const { boxes, changesBefore } =
        flattened.get(key) ?? flattenOne(content, { pool: state.poolId, connection, ...found }, at)
      flattened.set(key, { boxes, changesBefore })
      if (changesBefore) out.differences.push(`${gatewayId}: the boxes of ${deviceId} change before ${changesBefore}`)
      list = lists.push(boxes) - 1
      known.set(key, list)
      if (performance.now() > sliceEnd) {
        await setImmediate()
        sliceEnd = performance.now() + sliceMs
      }
    }
    out.peers.push([deviceId, list, mfa_at])
  }
  return out
}

function flattenOne(content: Content, asked: Omit<Asked, 'at'>, at: number): Flattened {
  const { boxes, valid_until } = flatten(content, { ...asked, at })
  const untilThen = valid_until === null ? boxes : flatten(content, { ...asked, at: valid_until - 1 }).boxes
  const isSame = JSON.stringify(untilThen) === JSON.stringify(boxes)
  return { boxes, changesBefore: isSame ? undefined : new Date(valid_until ?? 0).toISOString() }
}
type Content = Parameters<typeof flatten>[0]
type Asked = Parameters<typeof flatten>[1]

/** Returns the first point at which the boxes disagree with the document, or overlap; undefined if there is none. */
export function firstDifference(
  document: PolicyDocument,
  found: Found,
  reach: Reach,
  boxes: readonly Box[],
): string | undefined {
  const { addresses, ports } = edgesOf(document, found, boxes)
  const placed = boxes.map((box) => ({ box, first: numberOf(box.first), last: numberOf(box.last) }))
  const points = [{ protocol: 'icmp', port: null }, ...ports.flatMap((port) => tcpAndUdp(port))]
  // Addresses with the same rules and the same boxes are checked once.
  const asked = new Set<string>()
  for (const address of addresses) {
    const n = numberOf(address)
    const here = placed.filter(
      ({ box, first, last }) => (box.family === 'ipv6') === address.includes(':') && first <= n && n <= last,
    )
    const rules = matchingRules(document, found, reach, address)
    const question = JSON.stringify([rules, here.map(({ box }) => [box.protocol, box.ports])])
    if (asked.has(question)) continue
    asked.add(question)
    for (const { protocol, port } of points) {
      const inside = here.filter(({ box }) => box.protocol === protocol && isOpen(box, port)).length
      const wanted = isAllowed(rules, protocol, port) ? 1 : 0
      if (inside !== wanted) return `${address} ${protocol} ${port ?? ''}: expected in ${wanted} boxes, is in ${inside}`
    }
  }
  return undefined
}

const tcpAndUdp = (port: number) => ['tcp', 'udp'].map((protocol) => ({ protocol, port }))
const isOpen = ({ ports }: Box, port: number | null): boolean =>
  ports === null || port === null || (ports[0] <= port && port <= ports[1])
