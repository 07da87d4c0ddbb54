import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkDocument, MAX_DOCUMENT_ERRORS } from './document.ts'
import { createSuggest, editDistance } from './suggest.ts'

/** The definition, without a limit: every way to insert, remove, replace or swap. */
function plainDistance(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) => Array.from({ length: b.length + 1 }, (_, j) => i + j))
  const at = (i: number, j: number): number => table[i]?.[j] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= a.length; i++)
    for (let j = 1; j <= b.length; j++) {
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      table[i]![j] = Math.min(
        at(i - 1, j) + 1,
        at(i, j - 1) + 1,
        at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1),
        isSwapped ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
      )
    }
  return at(a.length, b.length)
}

test('the bounded distance is the exact one up to its limit', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 9 })
  fc.assert(
    fc.property(text, text, fc.integer({ min: 0, max: 6 }), (a, b, limit) => {
      assert.equal(editDistance(a, b, limit), Math.min(plainDistance(a, b), limit + 1))
    }),
    { numRuns: 2_000 },
  )
})

test('the nearest names come first, in any case, and far names are left out', () => {
  const suggest = createSuggest(() => ['grafana', 'git', 'gist', 'GitLab', 'wiki'])
  assert.deepEqual(suggest('gti'), ['git'])
  assert.deepEqual(suggest('gits'), ['git', 'gist'])
  assert.deepEqual(suggest('gitlab'), ['GitLab'])
  assert.deepEqual(suggest('payroll'), [])
  assert.deepEqual(suggest('x'.repeat(1_000_000)), [])
})

const errorsOf = (document: object) => {
  const checked = checkDocument({ schema: 'holdfast.policy/1', rules: [], ...document })
  return 'errors' in checked ? checked.errors : []
}
const rule = (fields: object) => ({ id: 'r', action: 'allow', from: { any: true }, to: ['*'], ...fields })

test('an unknown field lists at most eight fields that fit there, nearest first', () => {
  assert.deepEqual(errorsOf({ rules: [rule({ portss: ['tcp/1'] })] }), [
    {
      field: 'rules[0].portss',
      message:
        'unknown field "portss". Did you mean "ports"? Fields here: ports, from, to, log, id, action, except, when and 3 more',
    },
  ])
  for (const [document, field, message] of [
    [{ rulez: [] }, 'rulez', /Did you mean "rules"\?/],
    [
      { rules: [rule({ from: { usres: ['a'] } })] },
      'rules[0].from.usres',
      /Did you mean "users" or "user"\? Fields here: users, user, /,
    ],
    [{ rules: [rule({ when: { country: 'DE' } })] }, 'rules[0].when.country', /Did you mean "countries"\?/],
    [
      { rules: [rule({ when: { time: [{ form: '1' }] } })] },
      'rules[0].when.time[0].form',
      /Fields here: from, to, zone, days$/,
    ],
    [{ resources: { a: { cidr: ['10.0.0.1'] } } }, 'resources.a.cidr', /Did you mean "cidrs"\?/],
    [{ groups: { 'a.b': { tags: ['x'] } } }, 'groups["a.b"].tags', /Fields here: users, user, groups, group$/],
    [{ posture_checks: { a: { expresion: 'x' } } }, 'posture_checks.a.expresion', /Did you mean "expression"\?/],
    [
      { posture_checks: { a: { expr: 'x' } } },
      'posture_checks.a.expr',
      /Did you mean "expression"\? Fields here: expr/,
    ],
    [{ posture_checks: { a: { enforced: true } } }, 'posture_checks.a.enforced', /Did you mean "enforcement"\?/],
    [
      { tests: [{ name: 'n', from: { mfa: 60 } }] },
      'tests[0].from.mfa',
      /Did you mean "mfa_age_seconds"\? Fields here: mfa_age_seconds, tag, /,
    ],
    [{ rules: [rule({ source: 'x' })] }, 'rules[0].source', /"source"\. Fields here: /],
    [{ settings: { dns: { server: [] } } }, 'settings.dns.server', /Did you mean "servers"\?/],
    [{ tests: [{ name: 'n', from: { any: true } }] }, 'tests[0].from.any', /Fields here: .* and \d+ more$/],
  ] as const) {
    const found = errorsOf(document).find((error) => error.field === field)
    assert.match(found?.message ?? JSON.stringify(errorsOf(document)), message)
  }
})

test('a misspelt resource or posture check is answered with the names that exist', () => {
  const document = {
    resources: { 'orders-db': { cidrs: ['10.1.0.1'] } },
    hosts: { bastion: '10.1.0.2' },
    posture_checks: { disk: { expression: 'disk.encrypted' } },
    groups: { engineers: { users: ['ada'] } },
    rules: [rule({ to: ['order-db', 'bastoin'], when: { posture: ['dsik'] } })],
    tests: [{ name: 't', from: { group: 'engineers' }, allow: ['orders-bd:tcp/5432', 'nowhere'] }],
  }
  assert.deepEqual(
    errorsOf(document).map(({ field, message }) => `${field}: ${message}`),
    [
      'rules[0].to[0]: unknown resource or host "order-db". Did you mean "orders-db"?',
      'rules[0].to[1]: unknown resource or host "bastoin". Did you mean "bastion"?',
      'rules[0].when.posture[0]: unknown posture check "dsik". Did you mean "disk"?',
      'tests[0].allow[0]: unknown resource or host "orders-bd". Did you mean "orders-db"?',
      'tests[0].allow[1]: unknown resource or host "nowhere"; correct the name, or add it to resources or hosts',
    ],
  )
})

test('suggestions for a document of 5,000 rules, 10,000 similar names and 100,000 unknown fields take bounded work', () => {
  const name = (i: number) => `${'a'.repeat(56)}${String(i).padStart(5, '0')}`
  const names = Array.from({ length: 5_000 }, (_, i) => name(i))
  const large = {
    resources: Object.fromEntries(names.map((n) => [`${n}r`, { cidrs: ['10.0.0.1'] }])),
    hosts: Object.fromEntries(names.map((n) => [`${n}h`, '10.0.0.1'])),
    rules: names.map((n, i) => rule({ id: `r${i}`, to: [`${n}xy`] })),
  }
  const unknown = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`field-${i}`, i]))
  const before = process.cpuUsage()
  assert.equal(errorsOf(large).length, MAX_DOCUMENT_ERRORS)
  assert.equal(errorsOf({ rules: [rule(unknown)] }).length, MAX_DOCUMENT_ERRORS)
  assert.equal(errorsOf({ rules: [rule({ ['x'.repeat(1_000_000)]: 1 })] }).length, 1)
  const { user } = process.cpuUsage(before)
  assert.ok(user < 5_000_000, `${user / 1_000} ms of CPU`)
})
