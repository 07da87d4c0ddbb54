import assert from 'node:assert/strict'
import { test } from 'node:test'
import { POLICY_LIMITS } from '@holdfast/contract/policy-document'
import { checkDocument, MAX_DOCUMENT_ERRORS } from './document.ts'
import { referencesOf, resolveDocument } from './references.ts'

const good = {
  schema: 'holdfast.policy/1',
  groups: { eng: { users: ['alice'], groups: ['staff', 'ops'] }, ops: { users: ['bob@example.com'] } },
  hosts: { bastion: '10.1.2.3' },
  resources: {
    db: { cidrs: ['10.1.0.0/16', 'fd00::/64'], ports: ['tcp/5432'], pool: 'eu' },
    wiki: { dns: ['*.example.com'] },
  },
  posture_checks: { disk: { expression: 'disk.encrypted' } },
  rules: [
    {
      id: 'eng-db',
      action: 'allow',
      from: { groups: ['eng'] },
      except: { devices: ['dev_9'] },
      to: ['db', 'bastion', '192.0.2.0/24'],
      ports: ['tcp/5000-6000'],
      when: { posture: ['disk'], time: [{ from: '22:00', to: '06:00', zone: 'Europe/Berlin' }], countries: ['DE'] },
      via: ['us'],
      expires_at: '2027-01-31T18:00:00Z',
    },
    { id: 'stop', action: 'deny', from: { any: true }, to: ['*'] },
  ],
  tests: [
    { name: 'alice', from: { user: 'alice' }, allow: ['db:tcp/5432'], deny: ['[fd00::1]:udp/53', 'git.example.com'] },
  ],
}

/** Returns a copy of the good document with one value set at a path, or removed. */
function withValue(path: string, value: unknown): unknown {
  const document = structuredClone(good) as unknown
  const steps = path.split('/')
  let at = document as Record<string, unknown>
  for (const step of steps.slice(0, -1)) at = at[step] as Record<string, unknown>
  const last = steps.at(-1) ?? ''
  if (value === undefined) delete at[last]
  else at[last] = value
  return document
}

const errorsOf = (value: unknown) => {
  const checked = checkDocument(value)
  return 'errors' in checked ? checked.errors : []
}

test('a valid document is accepted unchanged', () => assert.deepEqual(checkDocument(good), { document: good }))

for (const [path, value, field, message] of [
  ['schema', 'holdfast.policy/2', 'schema', /must be "holdfast.policy\/1"/],
  ['rules', undefined, 'rules', /required/],
  ['extra', 1, 'extra', /unknown field "extra"/],
  ['rules/0/form', {}, 'rules[0].form', /unknown field "form"/],
  ['rules/0/from/user', ['a'], 'rules[0].from.user', /unknown field/],
  ['rules/0/action', 'permit', 'rules[0].action', /one of "allow", "deny"/],
  ['rules/0/to/0', 7, 'rules[0].to[0]', /must be a text/],
  ['rules/0/to/0', 'bd', 'rules[0].to[0]', /no resource or host is called "bd"/],
  ['rules/0/to/2', '192.0.2.1/24', 'rules[0].to[2]', /write 192.0.2.0\/24/],
  ['rules/0/to/2', '192.0.2.0/33', 'rules[0].to[2]', /prefix length from 0 to 32/],
  ['rules/0/from', {}, 'rules[0].from', /selects no device/],
  ['rules/0/from', { any: false, users: [] }, 'rules[0].from', /selects no device/],
  ['rules/0/except', { any: true }, 'rules[0].except.any', /has no effect/],
  ['rules/0/ports', ['tcp/80'], 'rules[0].to[0]', /"db" is open on tcp\/5432/],
  ['rules/0/ports', ['tcp/6000-5000'], 'rules[0].ports[0]', /not a port/],
  ['rules/0/ports', ['tcp/99999'], 'rules[0].ports[0]', /not a port/],
  ['rules/0/when/posture/0', 'disc', 'rules[0].when.posture[0]', /no posture check is called "disc"/],
  ['rules/0/when/time/0/zone', 'Europe/Bonn', 'rules[0].when.time[0].zone', /not a time zone/],
  ['rules/0/when/time/0/to', '22:00', 'rules[0].when.time[0].to', /never open/],
  ['rules/0/when/time/0/from', '25:00', 'rules[0].when.time[0].from', /form/],
  ['rules/0/when/time/0/days', ['mon', 'mon'], 'rules[0].when.time[0].days', /twice/],
  ['rules/0/when/countries/0', 'de', 'rules[0].when.countries[0]', /form/],
  ['rules/0/action', 'deny', 'rules[0].via', /counts at every pool/],
  ['rules/0/expires_at', 'tomorrow', 'rules[0].expires_at', /RFC 3339/],
  ['rules/1/id', 'eng-db', 'rules[1].id', /rules\[0\] has the id/],
  ['resources/db/cidrs/1', 'fd00::1/64', 'resources.db.cidrs[1]', /write fd00::\/64/],
  ['resources/db/cidrs/1', '::ffff:10.0.0.0/104', 'resources.db.cidrs[1]', /write it as IPv4: 10.0.0.0/],
  ['resources/db/cidrs/0', '010.1.0.0/16', 'resources.db.cidrs[0]', /not an address/],
  ['resources/none', {}, 'resources.none', /reaches nothing/],
  ['resources/a b', { cidrs: [] }, 'resources["a b"]', /not a name/],
  ['resources/10.0.0.1', { cidrs: ['10.0.0.1'] }, 'resources["10.0.0.1"]', /look like an address/],
  ['resources/wiki/dns/0', 'a..b', 'resources.wiki.dns[0]', /not a DNS name/],
  ['hosts/db', '10.0.0.1', 'hosts.db', /also a resource/],
  ['groups/ops/groups', ['eng'], 'groups.eng.groups[1]', /eng > ops > eng/],
  ['groups/eng/groups', ['eng'], 'groups.eng.groups[0]', /eng > eng/],
  ['posture_checks/disk/expression', 'a &&\n &', 'posture_checks.disk.expression', /line 2, column 2/],
  ['posture_checks/disk/freshness_seconds', 1, 'posture_checks.disk.freshness_seconds', /at least 60/],
  ['tests/0/from', { platform: 'linux' }, 'tests[0].from', /needs a user/],
  ['tests/0/allow/0', 'db:443', 'tests[0].allow[0]', /not a target/],
  ['tests/0/deny/1', 'nothing', 'tests[0].deny[1]', /no resource or host/],
  ['tests/0/from/posture', { 'Disk!': true }, 'tests[0].from.posture["Disk!"]', /name of a fact/],
  ['settings', { dns: { servers: ['10.0.0.300'] } }, 'settings.dns.servers[0]', /not an IP address/],
  ['rules/0/description', 'half \ud800', 'rules[0].description', /not valid Unicode/],
] as const) {
  test(`${path} = ${JSON.stringify(value)?.slice(0, 40)} is refused at ${field}`, () => {
    const errors = errorsOf(withValue(path, value))
    const found = errors.find((error) => error.field === field)
    assert.ok(found, `${field} is not among ${JSON.stringify(errors)}`)
    assert.match(found.message, message)
  })
}

test('other values than objects are refused', () => {
  for (const value of [null, 7, 'x', [], undefined]) assert.ok(errorsOf(value).length > 0)
})

test('many mistakes are reported at once, up to a limit', () => {
  const rules = Array.from({ length: 200 }, (_, i) => ({
    id: `r${i}`,
    action: 'allow',
    from: { any: true },
    to: ['nowhere'],
  }))
  assert.equal(errorsOf({ ...good, rules }).length, MAX_DOCUMENT_ERRORS)
  const odd = rules.map((rule) => ({ ...rule, odd: 1 }))
  const errors = errorsOf({ ...good, rules: odd })
  assert.equal(errors.length, MAX_DOCUMENT_ERRORS)
  assert.equal(errors.at(-1)?.field, `rules[${MAX_DOCUMENT_ERRORS - 1}].odd`)
})

test('a document above the limit of rules is refused', () => {
  const rules = (n: number) =>
    Array.from({ length: n }, (_, i) => ({ id: `r${i}`, action: 'allow', from: { any: true }, to: ['*'] }))
  assert.deepEqual(errorsOf({ schema: 'holdfast.policy/1', rules: rules(POLICY_LIMITS.rules) }), [])
  assert.equal(errorsOf({ schema: 'holdfast.policy/1', rules: rules(POLICY_LIMITS.rules + 1) })[0]?.field, 'rules')
})

test('a chain of 2,000 nested groups is no cycle', () => {
  const groups = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`g${i}`, { groups: [`g${i + 1}`] }]))
  assert.deepEqual(errorsOf({ schema: 'holdfast.policy/1', groups, rules: [] }), [])
})

test('the references of a document are listed with every position', () => {
  const checked = checkDocument(good)
  assert.ok('document' in checked)
  const { users, groups, devices, pools } = referencesOf(checked.document)
  assert.deepEqual(
    [...users],
    [
      ['alice', ['groups.eng.users[0]', 'tests[0].from.user']],
      ['bob@example.com', ['groups.ops.users[0]']],
    ],
  )
  assert.deepEqual([...groups], [['staff', ['groups.eng.groups[0]']]])
  assert.deepEqual([...devices], [['dev_9', ['rules[0].except.devices[0]']]])
  assert.deepEqual(
    [...pools],
    [
      ['eu', ['resources.db.pool']],
      ['us', ['rules[0].via[0]']],
    ],
  )
})

test('an unknown name is an error at each of its positions', () => {
  const checked = checkDocument(good)
  assert.ok('document' in checked)
  const result = resolveDocument(checked.document, {
    users: new Map([['bob@example.com', 'usr_2']]),
    groups: new Map([['staff', 'grp_1']]),
    devices: new Map([['dev_9', 'dev_9']]),
    pools: new Map([
      ['eu', 'gwp_1'],
      ['us', 'gwp_2'],
    ]),
  })
  assert.ok('errors' in result)
  assert.deepEqual(
    result.errors.map(({ field }) => field),
    ['groups.eng.users[0]', 'tests[0].from.user'],
  )
  assert.match(result.errors[0]?.message ?? '', /no user is called "alice"/)
})
