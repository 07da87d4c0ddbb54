import assert from 'node:assert/strict'
import type { PolicyDocument, PolicyRule, PolicyTimeWindow } from '@holdfast/contract/policy-document'
import fc from 'fast-check'
import { type CompiledPolicy, compilePolicy } from '../../src/compile.ts'
import { checkDocument } from '../../src/document.ts'
import type { DeviceFacts } from '../../src/facts.ts'
import { type ResolvedPolicy, referencesOf, resolveDocument } from '../../src/references.ts'

/** For tests: a directory in which the id of every object is its name. */
export function resolve(value: unknown): ResolvedPolicy {
  const checked = checkDocument(value)
  if ('errors' in checked) assert.fail(checked.errors.map(({ field, message }) => `${field}: ${message}`).join('\n'))
  const { users, groups, devices, pools } = referencesOf(checked.document)
  const self = (names: Map<string, unknown>) => new Map([...names.keys()].map((name) => [name, name]))
  const result = resolveDocument(checked.document, {
    users: self(users),
    groups: self(groups),
    devices: self(devices),
    pools: self(pools),
  })
  if ('errors' in result) assert.fail(JSON.stringify(result.errors))
  return result.resolved
}

export const compile = (document: Omit<PolicyDocument, 'schema'>): CompiledPolicy =>
  compilePolicy(resolve({ schema: 'holdfast.policy/1', ...document }))

export const device = (facts: Partial<DeviceFacts> = {}): DeviceFacts => ({
  device_id: 'dev_1',
  user_id: 'alice',
  group_ids: [],
  tags: [],
  platform: 'linux',
  posture: null,
  ...facts,
})

/** A small set of names, so that random rules often match random devices. */
const users = ['alice', 'bob', 'carol']
const directoryGroups = ['staff', 'dev', 'ops']
const tags = ['managed', 'kiosk']
const devices = ['dev_1', 'dev_2']
const some = (from: readonly string[]) => fc.uniqueArray(fc.constantFrom(...from), { minLength: 1, maxLength: 2 })
const everyGroup = [...directoryGroups, 'inner', 'outer']

const subjects = fc
  .record(
    { users: some(users), groups: some(everyGroup), tags: some(tags), devices: some(devices), any: fc.constant(true) },
    { requiredKeys: [] },
  )
  .filter((named) => Object.keys(named).length > 0)
const excepted = fc.record(
  { users: some(users), groups: some(everyGroup), tags: some(tags), devices: some(devices) },
  { requiredKeys: [] },
)

const conditions = fc.record(
  {
    posture: fc.uniqueArray(fc.constantFrom('disk', 'os', 'watched'), { maxLength: 2 }),
    countries: some(['DE', 'US', 'NP']),
    cidrs: some(['192.0.2.0/24', '198.51.100.7', '2001:db8::/32']),
    mfa_within_seconds: fc.constantFrom(60, 3_600),
    time: fc.constant<PolicyTimeWindow[]>([
      { days: ['mon', 'tue'], from: '08:00', to: '18:00', zone: 'Europe/Berlin' },
    ]),
  },
  { requiredKeys: [] },
)

export const arbitraryRule: fc.Arbitrary<Omit<PolicyRule, 'id'>> = fc.record(
  {
    action: fc.constantFrom('allow' as const, 'allow' as const, 'deny' as const),
    from: subjects,
    except: excepted,
    to: fc.uniqueArray(fc.constantFrom('db', 'web', 'gw', '*', '10.1.0.0/16', '10.1.2.0/24', '10.1.2.3'), {
      minLength: 1,
      maxLength: 3,
    }),
    ports: fc.constantFrom<string[]>(['tcp/443'], ['tcp/*'], ['tcp/1-1024', 'icmp']),
    when: conditions,
    expires_at: fc.constantFrom('2027-01-04T10:00:00Z', '2028-01-01T00:00:00Z'),
  },
  { requiredKeys: ['action', 'from', 'to'] },
)

export const world = (rules: readonly PolicyRule[]): Omit<PolicyDocument, 'schema'> => ({
  groups: { inner: { users: ['bob'], groups: ['dev'] }, outer: { users: ['carol'], groups: ['inner', 'ops'] } },
  hosts: { gw: '10.1.2.3' },
  resources: {
    db: { cidrs: ['10.1.2.0/24'], ports: ['tcp/443', 'tcp/5432'] },
    web: { dns: ['*.corp.example', 'example.com'], cidrs: ['fd00::/64'] },
  },
  posture_checks: {
    disk: { expression: 'disk.encrypted', remediation: 'Encrypt the disk.' },
    os: { expression: 'os.version >= "14.2"', platforms: ['macos'], freshness_seconds: 600 },
    watched: { expression: 'custom.watched', enforcement: 'audit' },
  },
  rules: [...rules],
})

export const arbitraryRules: fc.Arbitrary<PolicyRule[]> = fc
  .array(arbitraryRule, { maxLength: 12 })
  .map((rules) => rules.map((rule, i): PolicyRule => ({ ...rule, id: `r${i}` })))

export const NOW = Date.parse('2027-01-04T12:00:00Z')

export const arbitraryDevice: fc.Arbitrary<DeviceFacts> = fc.record({
  device_id: fc.constantFrom(...devices, 'dev_3'),
  user_id: fc.constantFrom(...users, null),
  group_ids: fc.uniqueArray(fc.constantFrom(...directoryGroups)),
  tags: fc.uniqueArray(fc.constantFrom(...tags)),
  platform: fc.constantFrom('linux', 'macos'),
  posture: fc.option(
    fc.record({
      facts: fc.record(
        {
          'disk.encrypted': fc.boolean(),
          'os.version': fc.constantFrom('14.1', '14.2', '15'),
          'custom.watched': fc.boolean(),
        },
        { requiredKeys: [] },
      ),
      reported_at: fc.constantFrom(NOW - 60_000, NOW - 1_000_000, NOW - 10_000_000),
    }),
  ),
})
