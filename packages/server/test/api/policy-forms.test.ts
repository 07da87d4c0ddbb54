import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeUser } from '../support/actors/people.ts'
import { refused } from '../support/clients/answers.ts'
import { startKit } from '../support/deployment/deployment.ts'

const schema = 'holdfast.policy/1'

test('both forms of subjects are stored as one document', async (t) => {
  const kit = await startKit(t)
  const { admin } = kit
  await makeUser(kit, 'ada')
  const rule = { id: 'wiki', action: 'allow', to: ['10.1.0.1'] }
  const one = {
    schema,
    groups: { staff: { user: 'ada' } },
    rules: [{ ...rule, from: { group: 'staff' }, except: { tag: 'lost' } }],
    tests: [{ name: 't', from: { users: ['ada'] }, allow: ['10.1.0.1'] }],
  }
  const lists = {
    schema,
    groups: { staff: { users: ['ada'] } },
    rules: [{ ...rule, from: { groups: ['staff'] }, except: { tags: ['lost'] } }],
    tests: [{ name: 't', from: { user: 'ada' }, allow: ['10.1.0.1'] }],
  }

  await t.test('the typed client accepts both, and the digest is the same', async () => {
    const first = await admin.publishPolicy({ body: { channel: 'stable', policy: one } })
    const second = await admin.publishPolicy({ body: { channel: 'stable', policy: lists } })
    assert.equal(first.digest, second.digest)
    assert.deepEqual(second.impact.rules_changed, [])
    const shown = await admin.getPolicyBundle({ params: { bundle_id: first.bundle_id } })
    assert.deepEqual(shown.policy, lists)
  })

  await t.test('a canary that was written in one form is promoted with the document in the other form', async () => {
    const changed = { ...one, rules: [{ ...one.rules[0], to: ['10.1.0.1', '10.1.0.2'] }] }
    const same = { ...lists, rules: [{ ...lists.rules[0], to: ['10.1.0.1', '10.1.0.2'] }] }
    await admin.publishPolicy({ body: { channel: 'canary', policy: changed, rollout: { percent: 10 } } })
    const promoted = await admin.publishPolicy({ body: { channel: 'stable', policy: same } })
    assert.equal(promoted.channel, 'stable')
  })

  await t.test('an unknown name is refused at the field that the author wrote', async () => {
    const { errors } = await admin.validatePolicy({
      body: {
        policy: {
          schema,
          groups: { 'a.b': { user: 'nobody-1' }, staff: {} },
          rules: [{ ...rule, from: { group: 'staf' }, except: { user: 'nobody-2' }, via: ['no-pool'] }],
          tests: [{ name: 't', from: { users: ['nobody-3'], groups: ['a.b', 'gone'] }, deny: ['10.1.0.1'] }],
        },
      },
    })
    assert.deepEqual(errors.map(({ field, message }) => [field, message.split(';')[0]]).sort(), [
      ['groups["a.b"].user', 'no user has the user_id, username or email "nobody-1"'],
      ['rules[0].except.user', 'no user has the user_id, username or email "nobody-2"'],
      ['rules[0].from.group', 'no group has the name or group_id "staf". Did you mean "staff"?'],
      ['rules[0].via[0]', 'no gateway pool has the name or pool_id "no-pool"'],
      ['tests[0].from.groups[1]', 'no group has the name or group_id "gone"'],
      ['tests[0].from.users[0]', 'no user has the user_id, username or email "nobody-3"'],
    ])
  })

  await t.test('a misspelt group of the directory is suggested', async () => {
    await admin.changeGroup({ body: { operation: 'create', group: { name: 'Engineers' } } })
    const policy = { schema, rules: [{ ...rule, from: { groups: ['enginers'] } }] }
    const { errors } = await admin.validatePolicy({ body: { policy } })
    assert.deepEqual(errors, [
      {
        field: 'rules[0].from.groups[0]',
        message: 'no group has the name or group_id "enginers". Did you mean "Engineers"?',
      },
    ])
  })

  await t.test('a DNS name is a target of questions, as it is one of tests', async () => {
    const named = {
      schema,
      resources: { git: { dns: ['*.git.example.com'], ports: ['tcp/22'] } },
      rules: [{ ...rule, from: { user: 'ada' }, to: ['git'] }],
    }
    const { items } = await admin.listUsers({})
    const ada = items.find(({ username }) => username === 'ada')!.user_id
    await admin.publishPolicy({ body: { channel: 'stable', policy: named } })
    const decisionOn = async (target: string) => {
      const { policy_decision } = await admin.explainPolicy({ body: { user_id: ada, target } })
      const { answers } = await admin.simulatePolicy({ body: { policy: named, questions: [{ user_id: ada, target }] } })
      assert.equal(answers[0]!.after.decision, policy_decision)
      assert.equal((await admin.whoReaches({ body: { target } })).counts.devices, 0)
      return policy_decision
    }
    assert.equal(await decisionOn('a.git.example.com:tcp/22'), 'allow')
    assert.equal(await decisionOn('a.git.example.com:tcp/443'), 'deny')
    assert.equal(await decisionOn('git.example.com'), 'deny')
    await assert.rejects(decisionOn('gti'), refused(422, /the policy has no resource or host "gti"/))
  })

  await t.test('a field in both forms is refused', async () => {
    const policy = { schema, rules: [{ ...rule, from: { user: 'ada', users: ['ada'] } }] }
    await assert.rejects(
      admin.publishPolicy({ body: { channel: 'stable', policy } }),
      refused(422, /^policy\.rules\[0\]\.from\.user: "user" and "users" mean the same; keep one of them/),
    )
  })

  await t.test(
    'a document that is too large in its stored form is refused, so that every version can return',
    async () => {
      const description = 'x'.repeat(1_000)
      const rules = Array.from({ length: 900 }, (_, i) => ({ ...rule, id: `r${i}`, from: { tag: 'a' }, description }))
      const size = (value: unknown) => JSON.stringify(value).length
      const room = 1_048_576 - size({ schema, rules })
      const filler = Array.from({ length: Math.ceil(room / 1_000) }, (_, i) => ({
        id: `f${i}`,
        action: 'allow',
        from: { any: true },
        to: ['10.1.0.1'],
        description: '',
      }))
      const policy = { schema, rules: [...rules, ...filler] }
      let left = 1_048_576 - size(policy)
      for (const entry of filler) {
        entry.description = 'x'.repeat(Math.min(1_000, left))
        left -= entry.description.length
      }
      assert.equal(size(policy), 1_048_576)
      const { errors } = await admin.validatePolicy({ body: { policy } })
      assert.deepEqual(
        errors.map(({ message }) => message.split(';')[0]),
        ['the document is larger than 1 MiB'],
      )
    },
  )
})
