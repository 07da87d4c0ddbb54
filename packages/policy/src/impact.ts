import type { CompiledPolicy } from './compile.ts'
import type { DeviceFacts } from './facts.ts'
import { createGrants } from './grants.ts'
import { type Selection, selectVariant } from './select.ts'
import { variantContent } from './variant.ts'

export type Impact = {
  devices_examined: number
  /** Devices whose variant changes, even if only by a setting. */
  devices_affected: number
  grants_gained: number
  grants_lost: number
}

/** The new grants of one device, and how many it gains and loses. */
export type DeviceImpact = { readonly selection: Selection; readonly gained: number; readonly lost: number }
type Change = { readonly affected: boolean; readonly gained: number; readonly lost: number }
type View = { readonly content: string; readonly grants: ReadonlySet<string> }

const maxRemembered = 50_000

/**
 * Computes the effect of a publish on devices. The caller adds devices in chunks as it reads them. Devices that share
 * both variants cost two look-ups. `grants.ts` defines a grant.
 */
export function createImpact(before: CompiledPolicy | null, after: CompiledPolicy) {
  const numbers = new Map<string, number>()
  const viewBefore = before && createViews(before, numbers)
  const viewAfter = createViews(after, numbers)
  const changes = new Map<string, Map<string, Change>>()
  let remembered = 0
  const result: Impact = { devices_examined: 0, devices_affected: 0, grants_gained: 0, grants_lost: 0 }

  const changeOf = (old: Selection | null, now: Selection): Change => {
    const fromOld = changes.get(old?.key ?? '')
    const known = fromOld?.get(now.key)
    if (known) return known
    if (++remembered > maxRemembered) {
      changes.clear()
      remembered = 1
    }
    const was: View = old && viewBefore ? viewBefore(old) : nothing
    const is = viewAfter(now)
    const change = {
      affected: was.content !== is.content,
      gained: countOutside(is.grants, was.grants),
      lost: countOutside(was.grants, is.grants),
    }
    const key = old?.key ?? ''
    changes.set(key, (changes.get(key) ?? new Map<string, Change>()).set(now.key, change))
    return change
  }

  return {
    add(facts: DeviceFacts, nowMs: number): DeviceImpact {
      const old = before && selectVariant(before, facts, nowMs)
      const selection = selectVariant(after, facts, nowMs)
      const { affected, gained, lost } = changeOf(old, selection)
      result.devices_examined++
      if (affected) result.devices_affected++
      result.grants_gained += gained
      result.grants_lost += lost
      return { selection, gained, lost }
    },
    result: (): Impact => ({ ...result }),
  }
}

const nothing: View = { content: '', grants: new Set() }

function countOutside(grants: ReadonlySet<string>, others: ReadonlySet<string>): number {
  let count = 0
  for (const grant of grants) if (!others.has(grant)) count++
  return count
}

/** The content of each rule is serialized once and then represented by a number that both policies share. */
function createViews(compiled: CompiledPolicy, numbers: Map<string, number>): (selection: Selection) => View {
  const views = new Map<string, View>()
  const grantsOf = createGrants(compiled)
  const numberOf = (text: string): number => {
    const number = numbers.get(text) ?? numbers.size
    numbers.set(text, number)
    return number
  }
  const bare = { rules: [], checks: [], key: '', valid_until: null }
  const settings = numberOf(JSON.stringify(variantContent(compiled, bare)))
  // Only the rules that some device has.
  const rules: number[] = []
  const ruleNumber = (i: number): number => {
    rules[i] ??= numberOf(JSON.stringify(variantContent(compiled, { ...bare, rules: [i] })))
    return rules[i]
  }
  const checks = compiled.checks.map((_, i) =>
    numberOf(JSON.stringify(variantContent(compiled, { ...bare, checks: [i] }))),
  )
  return (selection) => {
    const known = views.get(selection.key)
    if (known) return known
    if (views.size >= maxRemembered) views.clear()
    // A check that is not part of the device's content adds nothing.
    const told = selection.checks.map((i) => checks[i]).filter((check) => check !== settings)
    const parts = [settings, ...selection.rules.map(ruleNumber), '', ...told]
    const view = { content: parts.join(), grants: grantsOf(selection) }
    views.set(selection.key, view)
    return view
  }
}
