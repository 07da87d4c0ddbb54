import type { Variant } from '@holdfast/policy'

/** A cache slot of a variant. It is empty once the variant was evicted. */
export type VariantSlot = {
  variant: Variant | null
  isUsed: boolean
  readonly bytes: number
  readonly leave: () => void
}

/** Memory of a variant besides its content, in bytes: its pointer, its answers and the objects around them. */
const overheadBytes = 3000
/** The content exists as objects, in the signed bundle, and in its answer. */
const copies = 3

/**
 * Cache of the variants of all policies, bounded in bytes. Variants that were not used lately are evicted. The next
 * request makes an evicted one again, with the same digest.
 */
export function createVariantBudget(maxBytes: number) {
  const slots = new Set<VariantSlot>()
  let held = 0

  const release = (slot: VariantSlot): void => {
    if (!slots.delete(slot)) return
    held -= slot.bytes
    slot.variant = null
    slot.leave()
  }
  function makeRoomFor(newest: VariantSlot): void {
    for (const slot of slots) {
      if (held <= maxBytes || slots.size === 1) return
      if (!slot.isUsed && slot !== newest) {
        release(slot)
        continue
      }
      slots.delete(slot)
      slots.add(slot)
      if (slot !== newest) slot.isUsed = false
    }
  }
  return {
    take: (variant: Variant, contentBytes: number, leave: () => void): VariantSlot => {
      const slot: VariantSlot = { variant, isUsed: false, bytes: overheadBytes + copies * contentBytes, leave }
      slots.add(slot)
      held += slot.bytes
      makeRoomFor(slot)
      return slot
    },
    release,
    heldBytes: () => held,
  }
}
export type VariantBudget = ReturnType<typeof createVariantBudget>
