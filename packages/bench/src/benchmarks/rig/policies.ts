import type { PolicyDocument } from '@holdfast/contract/policy-document'
import { directoryGroups, variants } from './fleet.ts'

/**
 * A policy that lets everyone reach `resources` networks. Its one variant grows with their number. `mark` makes the
 * content different.
 */
export const plainDocument = (resources: number, mark = 0): PolicyDocument => ({
  schema: 'holdfast.policy/1',
  resources: Object.fromEntries(
    Array.from({ length: resources }, (_, i) => [
      `app-${i}`,
      { cidrs: [`10.${i >> 8}.${i & 255}.0/24`], dns: [`app-${i}.corp.example`], ports: ['tcp/443'] },
    ]),
  ),
  rules: Array.from({ length: resources }, (_, i) => ({
    id: `reach-${i}`,
    action: 'allow',
    from: { any: true },
    to: [`app-${i}`],
  })),
  settings: { keepalive_seconds: mark },
})

const perVariant = directoryGroups / variants
/** Groups of a set, out of ten, that each of the set's four rules names. */
const named = [
  [0, 1, 2],
  [3, 4],
  [5, 6, 7],
  [8, 9],
]

/**
 * A document of the maximum size: `rules` rules that name all 5,000 groups of the directory and give each of the 500
 * user sets different access, and `tests` tests.
 */
export function largeDocument({ rules, tests, mark }: { rules: number; tests: number; mark: number }): PolicyDocument {
  return {
    schema: 'holdfast.policy/1',
    resources: Object.fromEntries(
      Array.from({ length: variants }, (_, v) => [`r${v}`, { cidrs: [`10.${v >> 8}.${v & 255}.0/24`] }]),
    ),
    rules: Array.from({ length: rules }, (_, i) => {
      const v = i % variants
      const groups = (named[Math.floor(i / variants) % named.length] ?? []).map((g) => `group-${v + variants * g}`)
      return { id: `rule-${i}`, action: 'allow' as const, from: { groups }, to: [`r${v}`], ports: [`tcp/${1 + i}`] }
    }),
    settings: { keepalive_seconds: mark },
    tests: Array.from({ length: tests }, (_, i) => {
      const v = i % variants
      const group = v + variants * (Math.floor(i / variants) % perVariant)
      return { name: `test ${i}`, from: { group: `group-${group}` }, deny: [`r${(v + 1) % variants}:tcp/443`] }
    }),
  }
}
