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

test('a valid document in its canonical form is accepted unchanged', () => {
  const checked = checkDocument(good)
  assert.ok('document' in checked)
  assert.equal(checked.document, good)
})

for (const [path, value, field, message] of [
  ['schema', 'holdfast.policy/2', 'schema', /must be "holdfast.policy\/1"/],
  ['rules', undefined, 'rules', /^the field "rules" is missing; add it$/],
  ['extra', 1, 'extra', /^unknown field "extra". Fields here: tests, schema, /],
  ['rules/0/form', {}, 'rules[0].form', /^unknown field "form". Did you mean "from"\? Fields here: from, /],
  ['rules/0/from/user', ['a'], 'rules[0].from.user', /^must be a text in double quotes; for a list write "users"$/],
  ['rules/0/action', 'permit', 'rules[0].action', /one of "allow", "deny"/],
  ['rules/0/to/0', 7, 'rules[0].to[0]', /must be a text/],
  ['rules/0/to/0', 'bd', 'rules[0].to[0]', /^unknown resource or host "bd". Did you mean "db"\?$/],
  ['rules/0/to/0', 'git.example.com', 'rules[0].to[0]', /is a DNS name; add it to "dns" of a resource/],
  ['tests/0/allow/0', '10.1.0.0/16', 'tests[0].allow[0]', /is a network; add it to "cidrs" of a resource/],
  ['rules/0/to/2', '192.0.2.1/24', 'rules[0].to[2]', /write 192.0.2.0\/24/],
  ['rules/0/to/2', '192.0.2.0/33', 'rules[0].to[2]', /a number from 0 to 32/],
  ['rules/0/from', {}, 'rules[0].from', /selects no device/],
  ['rules/0/from', { any: false, users: [] }, 'rules[0].from', /selects no device/],
  ['rules/0/except', { any: true }, 'rules[0].except.any', /applies to no device/],
  ['rules/0/ports', ['tcp/80'], 'rules[0].to[0]', /no port in common: the resource has tcp\/5432;/],
  ['rules/0/ports', ['tcp/6000-5000'], 'rules[0].ports[0]', /not a port/],
  ['rules/0/ports', ['tcp/99999'], 'rules[0].ports[0]', /not a port/],
  [
    'rules/0/when/posture/0',
    'disc',
    'rules[0].when.posture[0]',
    /^unknown posture check "disc". Did you mean "disk"\?$/,
  ],
  ['rules/0/when/time/0/zone', 'Europe/Bonn', 'rules[0].when.time[0].zone', /not an IANA time zone/],
  ['rules/0/when/time/0/to', '22:00', 'rules[0].when.time[0].to', /never open/],
  ['rules/0/when/time/0/from', '25:00', 'rules[0].when.time[0].from', /time of day such as 08:30/],
  ['rules/0/when/time/0/days', ['mon', 'mon'], 'rules[0].when.time[0].days', /twice/],
  ['rules/0/when/countries/0', 'de', 'rules[0].when.countries[0]', /two capital letters/],
  ['rules/0/action', 'deny', 'rules[0].via', /applies at every pool/],
  ['rules/0/expires_at', 'tomorrow', 'rules[0].expires_at', /RFC 3339/],
  ['rules/1/id', 'eng-db', 'rules[1].id', /rules\[0\] has the id "eng-db" too/],
  ['resources/db/cidrs/1', 'fd00::1/64', 'resources.db.cidrs[1]', /write fd00::\/64/],
  ['resources/db/cidrs/1', '::ffff:10.0.0.0/104', 'resources.db.cidrs[1]', /write it as IPv4: 10.0.0.0/],
  ['resources/db/cidrs/0', '010.1.0.0/16', 'resources.db.cidrs[0]', /not an address/],
  ['resources/none', {}, 'resources.none', /has no destination/],
  ['resources/a b', { cidrs: [] }, 'resources["a b"]', /not a valid name/],
  ['resources/10.0.0.1', { cidrs: ['10.0.0.1'] }, 'resources["10.0.0.1"]', /name is an IP address/],
  ['resources/wiki/dns/0', 'a..b', 'resources.wiki.dns[0]', /not a DNS name/],
  ['hosts/db', '10.0.0.1', 'hosts.db', /a resource has the name "db" too/],
  ['groups/ops/groups', ['eng'], 'groups.eng.groups[1]', /eng > ops > eng/],
  ['groups/eng/groups', ['eng'], 'groups.eng.groups[0]', /eng > eng/],
  ['posture_checks/disk/expression', 'a &&\n &', 'posture_checks.disk.expression', /line 2, column 2/],
  ['posture_checks/disk/freshness_seconds', 1, 'posture_checks.disk.freshness_seconds', /at least 60/],
  ['tests/0/from', { platform: 'linux' }, 'tests[0].from', /selects no device/],
  ['tests/0/allow/0', 'db:443', 'tests[0].allow[0]', /not a target/],
  ['tests/0/deny/1', 'nothing', 'tests[0].deny[1]', /^unknown resource or host "nothing"; correct the name, or add it/],
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
  assert.match(result.errors[0]?.message ?? '', /no user has the user_id, username or email "alice"/)
})
