import type { Variant } from '@holdfast/policy'

/** A place for a variant, which is empty once the variant had to make room. */
export type Slot = { variant: Variant | null; used: boolean; readonly bytes: number; readonly leave: () => void }

/** What a variant costs beside its content: its pointer, its answers and the objects around them. */
const overheadBytes = 3000
/** The content as objects, and again in the signed bundle and its answer. */
const copies = 3

/**
 * The variants of all policies in memory, within a budget of bytes. What was not asked for lately makes room; whoever
 * needs it again makes it again, with the same digest.
 */
export function createVariantBudget(maxBytes: number) {
  const slots = new Set<Slot>()
  let held = 0

  const release = (slot: Slot): void => {
    if (!slots.delete(slot)) return
    held -= slot.bytes
    slot.variant = null
    slot.leave()
  }
  function makeRoomFor(newest: Slot): void {
    for (const slot of slots) {
      if (held <= maxBytes || slots.size === 1) return
      if (!slot.used && slot !== newest) {
        release(slot)
        continue
      }
      slots.delete(slot)
      slots.add(slot)
      if (slot !== newest) slot.used = false
    }
  }
  return {
    take: (variant: Variant, contentBytes: number, leave: () => void): Slot => {
      const slot: Slot = { variant, used: false, bytes: overheadBytes + copies * contentBytes, leave }
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
