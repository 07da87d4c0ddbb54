import type { Variant } from '@holdfast/policy'
import type { TenantId } from '../../../kernel/actor.ts'
import { BoundedMap } from '../../../kernel/bounded-map.ts'
import { createSlices } from '../../../kernel/time-slice.ts'
import type { TenantPolicy } from '../../policy/index.ts'
import type { GatewaysDeps } from '../deps.ts'

/** Devices that moved together from one variant to another, without any other change. */
export type VariantMove = { from: Variant; to: Variant; ids: readonly string[] }
type Moves = {
  /** At most one move from each variant. It applies to all devices of the variant that are not named elsewhere. */
  together: readonly VariantMove[]
  /** Devices whose new state must be sent one by one. */
  alone: readonly string[]
}

const none: Moves = { together: [], alone: [] }

/**
 * Effects of a publish on devices that did not change themselves. Most devices of a variant make the same move, which
 * is sent once; the others are named.
 */
export function createVariantMoves({
  changes,
  fleet,
  policy,
  now,
}: Pick<GatewaysDeps, 'changes' | 'fleet' | 'policy' | 'now'>) {
  const known = new BoundedMap<string, Promise<Moves>>(16)
  changes.listen('values', { changed: () => {}, forgotten: known.clear.bind(known) })

  async function walk(tenant: TenantId, earlier: TenantPolicy, current: TenantPolicy, asOf: number): Promise<Moves> {
    const at = now().getTime()
    const ways = new Map<string, Map<string, VariantMove & { ids: string[] }>>()
    const alone: string[] = []
    const slice = createSlices()
    for (const device of (await fleet.all(tenant)).values()) {
      if (slice.isOver()) await slice.next()
      if (!device.usable) continue
      const before = earlier.selectionOf(device, asOf)
      const after = current.selectionOf(device, at)
      if (before.validUntil !== after.validUntil || (before.validUntil !== null && before.validUntil <= at)) {
        alone.push(device.deviceId)
        continue
      }
      const from = ways.get(before.variant.digest) ?? new Map<string, VariantMove & { ids: string[] }>()
      ways.set(before.variant.digest, from)
      const way = from.get(after.variant.digest)
      if (way) way.ids.push(device.deviceId)
      else from.set(after.variant.digest, { from: before.variant, to: after.variant, ids: [device.deviceId] })
    }
    const together: VariantMove[] = []
    for (const from of ways.values()) {
      const [most, ...others] = [...from.values()].sort((a, b) => b.ids.length - a.ids.length)
      if (!most) continue
      const stays = most.from.digest === most.to.digest
      if (!stays) together.push(most)
      for (const other of others) for (const id of other.ids) alone.push(id)
    }
    return { together, alone }
  }

  return {
    /** `asOf`: time of the gateway's last answer. Undefined if it is needed and missing. */
    since: async (
      tenant: TenantId,
      { since, asOf, policy: current }: { since: number; asOf: number | undefined; policy: TenantPolicy },
    ): Promise<Moves | undefined> => {
      const before = await policy.versionsAt(tenant, since)
      const { canary, stable } = current.versions
      if (before.canary === canary && before.stable === stable) return none
      const earlier = await policy.atVersions(tenant, before)
      const isTimed = earlier.isTimed || current.isTimed
      if (isTimed && asOf === undefined) return undefined
      const atMs = isTimed && asOf !== undefined ? asOf : now().getTime()
      const key = [tenant, before.canary, before.stable, canary, stable, isTimed ? atMs : ''].join('|')
      const held = known.get(key)
      if (held) return held
      const moves = walk(tenant, earlier, current, atMs)
      known.set(key, moves)
      moves.catch(() => known.delete(key))
      return moves
    },
  }
}
