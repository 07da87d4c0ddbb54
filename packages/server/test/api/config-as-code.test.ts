import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { changeSecuritySettings } from '@holdfast/sdk'
import { makeUser } from '../support/actors/people.ts'
import { refused } from '../support/clients/answers.ts'
import { startCommand } from '../support/clients/cli-command.ts'
import { startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'

const file = `
format: holdfast.config/1
security:
  sessions: { idle_seconds: 900 }
  mfa: { required_roles: [platform_admin] }
enrollment:
  install_templates: { linux: 'acme-vpn enroll {server} --token {token}' }
notifications:
  email: { recipients: [security@example.com], min_severity: warning }
groups:
  engineers:
    description: Who may reach code
    members: [Ada, grace]
  guests: {}
gateway_pools:
  frankfurt:
    region: { code: eu-1, name: Frankfurt }
    mtu: 1380
    dns: ['FD00:0:0::35', '::FFFF:10.0.0.53', 10.0.0.53]
policy:
  stable:
    schema: holdfast.policy/1
    resources: { code: { cidrs: [10.1.0.0/16, 'FD00:0::/64'], dns: [Git.Example.COM], ports: [tcp/22] } }
    settings: { dns: { servers: ['FD00:0::35'], match_domains: [Example.COM] } }
    rules:
      - { id: code, action: allow, from: { group: engineers }, to: [code], via: [frankfurt] }
`

test('a file is applied once, shows drift, and leaves other settings alone', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  for (const name of ['ada', 'grace', 'linus']) await makeUser(kit, name)
  await admin.createGatewayPool({ body: { name: 'paris', region: { code: 'eu-2' } } })
  const { run, file: path } = await startCommand(t, kit)
  const given = async (text: string) => {
    await writeFile(path('c.yaml'), text)
    return path('c.yaml')
  }
  const at = await given(file)
  const planned = await run('config', 'plan', at)
  assert.equal(planned.code, 2, planned.err)
  assert.match(planned.out, /^\+ group engineers$/m)
  assert.match(planned.out, /sessions\.idle_seconds: 1800 -> 900/)
  assert.equal((await admin.listGroups()).items.length, 0, 'a plan changes nothing')
  assert.equal((await run('config', 'apply', at)).code, 2, 'it is asked first')
  const applied = await run('config', 'apply', at, '--yes')
  assert.equal(applied.code, 0, applied.err)

  const events = async () => (await admin.listAuditEvents({ query: { limit: 200, outcome: 'success' } })).items
  const writes = async () => (await events()).filter(({ kind }) => kind !== 'api_key.used').length
  const before = await writes()
  const again = await run('config', 'plan', at)
  assert.deepEqual([again.code, again.out], [0, ''], again.err)
  assert.equal((await run('config', 'apply', at)).code, 0, 'nothing is asked where nothing differs')
  assert.equal(await writes(), before, 'and nothing is written')
  assert.equal((await eventsOf(kit, 'policy.published')).length, 1)
  assert.equal((await admin.getSecuritySettings()).sessions.absolute_seconds, 43_200, 'settings that are left out stay')
  assert.match((await admin.getEnrollmentSettings()).install_lines.linux, /^acme-vpn enroll http/)

  const [pool] = (await admin.listGatewayPools()).items.filter(({ name }) => name === 'frankfurt')
  assert.deepEqual(pool!.dns, ['fd00::35', '10.0.0.53'])
  await admin.updateGatewayPool({ params: { pool_id: pool!.pool_id }, body: { ...pool!, mtu: 1400 } })
  const engineers = (await admin.listGroups({ query: { q: 'engineers' } })).items[0]!
  const linus = (await admin.listUsers({ query: { q: 'linus' } })).items[0]!
  const group = { add_members: [linus.user_id] }
  await admin.changeGroup({ body: { operation: 'update', group_id: engineers.group_id, group } })
  const drifted = await run('--json', 'config', 'plan', at)
  assert.equal(drifted.code, 2)
  const lines = drifted.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(lines, [
    {
      thing: 'group engineers',
      action: 'update',
      fields: [{ field: 'members', from: ['ada', 'grace', 'linus'], to: ['ada', 'grace'] }],
    },
    { thing: 'gateway_pool frankfurt', action: 'update', fields: [{ field: 'mtu', from: 1400, to: 1380 }] },
  ])
  assert.equal((await run('config', 'apply', at, '--yes')).code, 0)
  assert.equal((await run('config', 'plan', at)).code, 0)

  const resources = { code: { cidrs: ['10.1.0.0/16'], description: 'ends the file, with an empty line\n\n' } }
  await admin.publishPolicy({
    body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules: [], resources } },
  })
  const shown = await run('config', 'show')
  assert.equal(shown.code, 0, shown.err)
  const same = await run('config', 'plan', await given(shown.out))
  assert.deepEqual([same.code, same.out], [0, ''], 'the output of show makes no change')
})

test('an invalid file is refused by field, without a request to the server', async (t) => {
  const kit = await startKit(t)
  const { run, file: path } = await startCommand(t, kit)
  const cases: [string, RegExp][] = [
    ['- a list', /has errors/],
    ['format: holdfast.config/2', /format/],
    ['format: holdfast.config/1\ngateway_pool: {}', /does not have gateway_pool/],
    ['format: holdfast.config/1\nsecurity: { sessions: { idle: 3 } }', /security\.sessions: does not have idle/],
    ['format: holdfast.config/1\nsecurity: { sessions: { idle_seconds: "3" } }', /security\.sessions\.idle_seconds/],
    ['format: holdfast.config/1\nnotifications: { webhook: { url: "https://a" } }', /does not have url/],
    ['format: holdfast.config/1\ngroups: { A: {}, a: {} }', /names a twice/],
    ['format: holdfast.config/1\ngroups: { a: {}, a: {} }', /is not YAML/],
    ['a: &x [1]\nb: [*x, *x]', /not/],
    ['a: [', /is not YAML/],
  ]
  for (const [text, why] of cases) {
    await writeFile(path('c.yaml'), text)
    const { code, err } = await run('config', 'plan', path('c.yaml'))
    assert.equal(code, 1, text)
    assert.match(err, why, text)
  }
})

test('a failed apply reports its progress, and the next one continues', async (t) => {
  const kit = await startKit(t)
  const { run, file: path } = await startCommand(t, kit)
  const text = 'format: holdfast.config/1\ngroups: { one: {} }\ngateway_pools: { two: { mtu: 1380 } }\n'
  await writeFile(path('c.yaml'), text)
  const failed = await run('config', 'apply', path('c.yaml'), '--yes')
  assert.equal(failed.code, 1)
  assert.match(failed.err, /nothing was changed:\n {2}gateway_pool two: needs region$/m)
  assert.equal((await kit.admin.listGroups()).items.length, 0, 'a plan finds it before anything is made')
  // The server alone knows that it has such an address elsewhere.
  await writeFile(path('c.yaml'), text.replace('mtu: 1380', 'region: { code: eu }, dns: [not-an-address]'))
  const late = await run('config', 'apply', path('c.yaml'), '--yes')
  assert.deepEqual(
    [late.code, /1 of 2 changes were made; the change of gateway_pool two failed/.test(late.err)],
    [1, true],
    late.err,
  )
  await writeFile(path('c.yaml'), text.replace('mtu: 1380', 'region: { code: eu }'))
  assert.equal((await run('config', 'apply', path('c.yaml'), '--yes')).code, 0)
  assert.equal((await kit.admin.listGroups()).items.length, 1)
})

test('the documented file, and the output of show, change nothing on a running tenant', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  const { run, file: path } = await startCommand(t, kit)
  for (const name of ['ada', 'grace']) await makeUser(kit, name)
  const rules = [{ id: 'code', action: 'allow', from: { any: true }, to: ['10.1.0.0/16'] }] as never
  await admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules } } })
  await admin.createGatewayPool({ body: { name: 'paris', region: { code: 'eu-2' } } })
  await admin.changeGroup({ body: { operation: 'create', group: { name: 'guests' } } })
  const shown = await run('config', 'show')
  await writeFile(path('shown.yaml'), shown.out)
  const plan = await run('config', 'plan', path('shown.yaml'))
  assert.deepEqual([plan.code, plan.out], [0, ''], plan.err)

  const page = await readFile(join(import.meta.dirname, '../../../../docs/configuration-as-code.md'), 'utf8')
  const [, example] = /```yaml file=holdfast\.yaml\n(format: holdfast\.config\/1\n[\s\S]*?)```/.exec(page) ?? []
  assert.ok(example)
  await writeFile(path('example.yaml'), example)
  const before = await admin.listPolicyBundles()
  const applied = await run('config', 'apply', path('example.yaml'), '--yes')
  assert.equal(applied.code, 0, applied.err)
  assert.deepEqual((await admin.listPolicyBundles()).items, before.items, 'the policy is the same')
  assert.deepEqual((await admin.listGroups()).items.map((g) => g.name).sort(), ['engineers', 'guests'])
  assert.equal((await admin.listGatewayPools()).items.length, 2)
})

test('a plan finds errors of the apply, with another exit code than for differences', async (t) => {
  const kit = await startKit(t)
  const { run, file: path } = await startCommand(t, kit)
  const rules = [{ id: 'code', action: 'allow', from: { any: true }, to: ['10.1.0.0/16'] }] as never
  await kit.admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules } } })
  const head = 'format: holdfast.config/1\n'
  const policy = (text: string) => `policy: { stable: { schema: holdfast.policy/1, rules: [${text}] } }\n`
  const rule = (from: string, via = '') => `{ id: a, action: allow, from: ${from}, to: [10.0.0.0/8]${via} }`
  const cases: [string, RegExp[]][] = [
    [
      'groups: { one: { members: [nobody, another] } }\n',
      [/group one: there is no user called another/, /called nobody/],
    ],
    ['notifications: { email: { enabled: true } }\n', [/email\.enabled needs a mail server.*HOLDFAST_SMTP_URL/]],
    ['gateway_pools: { two: { mtu: 1380 } }\n', [/gateway_pool two: needs region/]],
    [policy(rule('{ groups: [gone] }')), [/policy stable: .*gone/]],
    [policy(''), [/policy stable: has no rules.*--remove-all-rules/]],
    [`gateway_pools: { two: { mtu: 1380 } }\n${policy('')}`, [/needs region/, /has no rules/]],
  ]
  for (const [text, why] of cases)
    for (const command of ['plan', 'apply']) {
      await writeFile(path('c.yaml'), head + text)
      const { code, err } = await run('config', command, path('c.yaml'), ...(command === 'apply' ? ['--yes'] : []))
      assert.equal(code, 1, `${command} ${text} ${err}`)
      for (const each of why) assert.match(err, each, text)
    }
  assert.equal((await kit.admin.listPolicyBundles()).items.length, 1)
  assert.equal((await kit.admin.listGroups()).items.length, 0, 'nothing was made')
  // Objects that the file itself creates exist before the policy that names them.
  const made = 'groups: { staff: {} }\ngateway_pools: { rome: { region: { code: eu } } }\n'
  await writeFile(path('c.yaml'), head + made + policy(rule('{ groups: [staff] }', ', via: [rome]')))
  assert.equal((await run('config', 'plan', path('c.yaml'))).code, 2)
  assert.equal((await run('config', 'apply', path('c.yaml'), '--yes')).code, 0)
  await writeFile(path('c.yaml'), head + policy(''))
  assert.equal((await run('config', 'plan', path('c.yaml'), '--remove-all-rules')).code, 2)
  for (const wrong of [['plan'], ['plan', path('c.yaml'), '--no-such'], ['plan', path('gone.yaml')]])
    assert.equal((await run('config', ...wrong)).code, 1, wrong.join(' '))

  const { secret } = await kit.admin.createApiKey({ body: { name: 'reader', role: 'auditor' } })
  const reader = await startCommand(t, { ...kit, adminKey: secret })
  await writeFile(path('c.yaml'), `${head}security: { sessions: { idle_seconds: 901 } }\ngroups: { two: {} }\n`)
  const { code, err } = await reader.run('config', 'plan', path('c.yaml'))
  assert.equal(code, 1, err)
  assert.match(err, /security: needs the permission settings:write, which you do not have/)
  assert.match(err, /group two: needs the permission groups:write/)
})

test('a change between plan and apply is not overwritten', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  for (const name of ['ada', 'grace']) await makeUser(kit, name)
  const { run, runAnswering, file: path } = await startCommand(t, kit)
  const at = path('c.yaml')
  await writeFile(at, file.replace('Ada, grace', 'ada'))
  assert.equal((await run('config', 'apply', at, '--yes')).code, 0)
  await writeFile(at, file.replace('idle_seconds: 900', 'idle_seconds: 800'))
  const theirs = { schema: 'holdfast.policy/1', rules: [] }
  const outdated = async (change: () => Promise<unknown>, thing: string) => {
    const answer = async () => {
      await change()
      return 'y'
    }
    const { code, err } = await runAnswering(answer, 'config', 'apply', at)
    assert.equal(code, 1, err)
    assert.match(
      err,
      new RegExp(`changes were made; the change of ${thing} failed[^]*${thing} was changed after the plan`),
    )
  }
  await outdated(() => changeSecuritySettings(admin, { sessions: { absolute_seconds: 7200 } }), 'security')
  assert.equal((await admin.getSecuritySettings()).sessions.idle_seconds, 900)
  assert.equal((await run('config', 'apply', at, '--yes')).code, 0)

  const [group] = (await admin.listGroups({ query: { q: 'engineers' } })).items
  await writeFile(at, file.replace('Ada, grace', 'grace'))
  const ada = (await admin.listUsers({ query: { q: 'ada' } })).items[0]!
  const removed = { group_id: group!.group_id, group: { remove_members: [ada.user_id] } }
  await outdated(() => admin.changeGroup({ body: { operation: 'update', ...removed } }), 'group engineers')

  await writeFile(at, file.replace('mtu: 1380', 'mtu: 1390'))
  const [pool] = (await admin.listGatewayPools()).items
  const of = { params: { pool_id: pool!.pool_id } }
  await outdated(() => admin.updateGatewayPool({ ...of, body: { ...pool!, mtu: 1400 } }), 'gateway_pool frankfurt')
  assert.equal((await admin.getGatewayPool(of)).mtu, 1400)

  await writeFile(at, file.replace('tcp/22', 'tcp/23'))
  await outdated(() => admin.publishPolicy({ body: { channel: 'stable', policy: theirs } }), 'policy stable')
  const [newest] = (await admin.listPolicyBundles()).items
  const { policy, digest } = await admin.getPolicyBundle({ params: { bundle_id: newest!.bundle_id } })
  assert.deepEqual(policy, theirs)
  assert.equal((await run('config', 'apply', at, '--yes')).code, 0)
  const refusedAs = (e: unknown) => {
    assert.ok(refused(422, /previous_digest.*now has/)(e))
    return 0
  }
  const published = async (previous_digest: string | null) => {
    const body = { channel: 'canary', policy: theirs, previous_digest } as const
    const answers = times(20, () =>
      admin
        .publishPolicy({ body })
        .then(() => 1)
        .catch(refusedAs),
    )
    return (await answers).reduce((a, b) => a + b)
  }
  assert.equal(await published(digest), 0, 'that is what stable held')
  assert.equal(await published(null), 1, 'of many who saw the same one publishes')
})

test('more members than the rate of the key are set in one request, in any case of their names', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  const names = Array.from({ length: 30 }, (_, i) => `member-${String(i).padStart(2, '0')}`)
  for (const name of names) await makeUser(kit, name)
  // Ten at once.
  await changeSecuritySettings(admin, { api: { requests_per_minute_per_key: 60 } })
  const { run, file: path } = await startCommand(t, kit)
  const members = [...names, 'Member-00']
  await writeFile(path('c.yaml'), JSON.stringify({ format: 'holdfast.config/1', groups: { crowd: { members } } }))
  const applied = await run('config', 'apply', path('c.yaml'), '--yes')
  assert.equal(applied.code, 0, applied.err)
  const again = await run('config', 'plan', path('c.yaml'))
  assert.deepEqual([again.code, again.out], [0, ''], again.err)
  const unknown = JSON.stringify({ format: 'holdfast.config/1', groups: { crowd: { members: ['nobody'] } } })
  await writeFile(path('c.yaml'), unknown)
  const refused = await run('config', 'plan', path('c.yaml'))
  assert.equal(refused.code, 1)
  assert.match(refused.err, /group crowd: there is no user called nobody/)
})
