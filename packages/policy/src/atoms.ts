import type { PolicySubjects } from '@holdfast/contract/policy-document'
import { addAll, addSparse, type Bits, removeSparse, type SparseBits, setBit, toSparse, wordsFor } from './bits.ts'
import type { DeviceFacts } from './facts.ts'
import { childrenOf, containersFirst, type DocumentGroups } from './groups.ts'
import type { ResolvedPolicy } from './references.ts'

/**
 * The inverted index: the rules that name each attribute of a device. Groups of the document are expanded to their
 * members, so a device needs only the directory's groups. The document groups' own entries serve tests that ask for
 * "someone of this group".
 */
export type AtomIndex = {
  readonly any: Bits
  readonly users: ReadonlyMap<string, SparseBits>
  readonly groups: ReadonlyMap<string, SparseBits>
  readonly tags: ReadonlyMap<string, SparseBits>
  readonly devices: ReadonlyMap<string, SparseBits>
  readonly documentGroups: ReadonlyMap<string, SparseBits>
}

/** Builds the index. `subjects[i]` are the subjects of rule `i`. */
export function indexAtoms(subjects: readonly (PolicySubjects | undefined)[], resolved: ResolvedPolicy): AtomIndex {
  const words = wordsFor(subjects.length)
  const any = new Uint32Array(words)
  const [users, groups, tags, devices, own] = [table(words), table(words), table(words), table(words), table(words)]
  const documentGroups: DocumentGroups = resolved.document.groups ?? {}
  const groupBits = (name: string): Bits =>
    Object.hasOwn(documentGroups, name) ? own.of(name) : groups.of(idOf(resolved.groups, name))

  for (const [rule, named] of subjects.entries()) {
    if (!named) continue
    if (named.any) setBit(any, rule)
    for (const name of named.users ?? []) setBit(users.of(idOf(resolved.users, name)), rule)
    for (const name of named.groups ?? []) setBit(groupBits(name), rule)
    for (const tag of named.tags ?? []) setBit(tags.of(tag), rule)
    for (const name of named.devices ?? []) setBit(devices.of(idOf(resolved.devices, name)), rule)
  }
  for (const name of containersFirst(documentGroups)) {
    const rules = own.of(name)
    for (const child of childrenOf(documentGroups, name)) addAll(own.of(child), rules)
    for (const user of documentGroups[name]?.users ?? []) addAll(users.of(idOf(resolved.users, user)), rules)
    for (const group of documentGroups[name]?.groups ?? []) {
      if (!Object.hasOwn(documentGroups, group)) addAll(groups.of(idOf(resolved.groups, group)), rules)
    }
  }
  return {
    any,
    users: users.sparse(),
    groups: groups.sparse(),
    tags: tags.sparse(),
    devices: devices.sparse(),
    documentGroups: own.sparse(),
  }
}

function table(words: number) {
  const sets = new Map<string, Bits>()
  return {
    of(key: string): Bits {
      const known = sets.get(key)
      if (known) return known
      const bits = new Uint32Array(words)
      sets.set(key, bits)
      return bits
    },
    sparse: (): Map<string, SparseBits> =>
      new Map([...sets].map(([key, bits]) => [key, toSparse(bits)] as const).filter(([, set]) => set.at.length > 0)),
  }
}

/** Returns the id of a name. Every name has one after resolution, so a missing one is a fault of the caller. */
export function idOf(ids: Readonly<Record<string, string>>, name: string): string {
  const id = Object.hasOwn(ids, name) ? ids[name] : undefined
  if (id === undefined) throw new Error(`"${name}" has not been resolved`)
  return id
}

type Apply = (bits: Bits, set: SparseBits) => void

/** Writes into `bits` the rules that concern a device: those that name it, without those that except it. */
export function selectRules(
  from: AtomIndex,
  except: AtomIndex,
  facts: DeviceFacts,
  bits: Bits,
  documentGroups: readonly string[] = [],
): void {
  bits.set(from.any)
  applyAtoms(from, facts, documentGroups, bits, addSparse)
  applyAtoms(except, facts, documentGroups, bits, removeSparse)
}

function applyAtoms(
  index: AtomIndex,
  facts: DeviceFacts,
  documentGroups: readonly string[],
  bits: Bits,
  apply: Apply,
): void {
  const user = facts.user_id === null ? undefined : index.users.get(facts.user_id)
  if (user) apply(bits, user)
  const device = index.devices.get(facts.device_id)
  if (device) apply(bits, device)
  if (index.groups.size > 0) applyEach(index.groups, facts.group_ids, bits, apply)
  if (index.tags.size > 0) applyEach(index.tags, facts.tags, bits, apply)
  if (documentGroups.length > 0) applyEach(index.documentGroups, documentGroups, bits, apply)
}

function applyEach(sets: ReadonlyMap<string, SparseBits>, keys: readonly string[], bits: Bits, apply: Apply): void {
  for (let i = 0; i < keys.length; i++) {
    const set = sets.get(keys[i] ?? '')
    if (set) apply(bits, set)
  }
}
