import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { draftLimits, type Role } from '@holdfast/contract/vocabulary'
import { type Client, versionOf } from '@holdfast/sdk'
import { sql } from 'kysely'
import { encodeId } from '../../src/kernel/ids.ts'
import { makeUser, signInAs } from '../support/actors/people.ts'
import { countOf, refused, statusesOf } from '../support/clients/answers.ts'
import { bearer, call } from '../support/clients/api-calls.ts'
import { openStreams } from '../support/clients/change-streams.ts'
import { type Kit, runJob, startKit, times } from '../support/deployment/deployment.ts'
import { eventsOf } from '../support/domain/audit-events.ts'
import { policyTo } from '../support/domain/policy.ts'

const path = '/v1/admin/policy-drafts'
const broken = '{\r\n\t"schema": "holdfast.policy/1", // to do\n  "rules": [ {"id": "a",, \u00e9 \u{1f511} \u0301\n\n'
const digestOf = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`
const create = (client: Client, text = broken, name = 'wiki') => client.createPolicyDraft({ body: { name, text } })
const get = (client: Client, draft_id: string) => client.getPolicyDraft({ params: { draft_id } })
const remove = (client: Client, draft_id: string) => client.deletePolicyDraft({ params: { draft_id } })
const send = (kit: Kit, body: unknown, replica = kit.replicas[0]!) =>
  call({ ...kit, ...replica }, { method: 'POST', path }, bearer(kit.adminKey), body)

test('policy drafts', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const { admin } = kit

  await t.test('the text comes back byte for byte, with its author, its last editor and its size', async () => {
    const made = await create(admin)
    assert.deepEqual([made.size, made.base], [Buffer.byteLength(broken), null])
    const read = await get(admin, made.draft_id)
    assert.equal(read.text, broken)
    const { text: _, ...inList } = read
    assert.deepEqual([made, ...(await admin.listPolicyDrafts()).items], [inList, inList])
    for (const text of ['', '\ufeff{}', ' \n', 'null', '"'.repeat(1000)]) {
      const { draft_id } = await create(admin, text)
      assert.equal((await get(admin, draft_id)).text, text)
      await remove(admin, draft_id)
    }
    const events = await eventsOf(kit, 'policy.draft_created')
    const event = events.find(({ draft_id }) => draft_id === made.draft_id)
    assert.deepEqual([event?.digest, event?.size], [digestOf(broken), Buffer.byteLength(broken)])
    assert.ok(!JSON.stringify(events).includes('to do'), 'the text is in no event')
    await remove(admin, made.draft_id)
  })

  await t.test('a text has at most 1 MiB in UTF-8, and no NUL', async () => {
    const full = '"\n\u00e9'.repeat(draftLimits.bytes / 4)
    assert.equal(Buffer.byteLength(full), draftLimits.bytes)
    const made = await create(admin, full)
    assert.equal((await get(admin, made.draft_id)).text, full)
    const ascii = 'x'.repeat(draftLimits.bytes)
    assert.equal((await send(kit, { name: 'x', text: ascii })).status, 201)
    for (const text of [`${ascii}x`, `${full.slice(1)}\u00e9`]) {
      const got = await send(kit, { name: 'x', text })
      assert.equal(got.status, 422)
      assert.match(got.text.slice(0, 400), /text/)
    }
    for (const text of ['a\0b', '\u202e', '\ud800']) assert.equal((await send(kit, { name: 'x', text })).status, 422)
    assert.equal((await send(kit, { name: 'a\nb', text: '' })).status, 422)
    for (const { draft_id } of (await admin.listPolicyDrafts()).items) await remove(admin, draft_id)
  })

  await t.test(
    'readers read, and holders of policy:write change drafts of others; other tenants see none',
    async () => {
      const made = await create(await kit.as('security_admin'))
      const params = { draft_id: made.draft_id }
      const viewer = await kit.as('viewer')
      assert.deepEqual(
        (await viewer.listPolicyDrafts()).items.map((d) => d.draft_id),
        [made.draft_id],
      )
      assert.equal(
        await viewer.mergePolicyDraft({ params }).catch((e) => e.status),
        422,
        'it may, and the text is broken',
      )
      const body = { name: 'mine', text: '{}', base: null }
      await assert.rejects(viewer.createPolicyDraft({ body }), refused(403, /policy:write/))
      await assert.rejects(viewer.updatePolicyDraft({ params, body }, { ifMatch: '*' }), refused(403, /policy:write/))
      await assert.rejects(viewer.deletePolicyDraft({ params }), refused(403, /policy:write/))
      await assert.rejects((await kit.as('helpdesk')).listPolicyDrafts(), refused(403, /policy:read/))
      const other = await kit.as('tenant_admin', await kit.newTenant())
      assert.deepEqual((await other.listPolicyDrafts()).items, [])
      await assert.rejects(get(other, made.draft_id), refused(404))
      await assert.rejects(other.mergePolicyDraft({ params }), refused(404))
      await assert.rejects(other.updatePolicyDraft({ params, body }, { ifMatch: '*' }), refused(404))
      await assert.rejects(other.deletePolicyDraft({ params }), refused(404))
      const changed = await admin.updatePolicyDraft(
        { params, body },
        { ifMatch: versionOf(await get(admin, made.draft_id)) },
      )
      assert.deepEqual([changed.created_by, changed.updated_by === made.updated_by], [made.created_by, false])
      const [event] = await eventsOf(kit, 'policy.draft_updated')
      assert.deepEqual(
        [event?.draft_id, event?.changes],
        [made.draft_id, { name: ['wiki', 'mine'], digest: [digestOf(broken), digestOf('{}')] }],
      )
      assert.deepEqual(
        [await remove(admin, made.draft_id), await remove(admin, made.draft_id)],
        [{ changed: true }, { changed: false }],
      )
      await assert.rejects(get(admin, made.draft_id), refused(404))
      await assert.rejects(remove(other, made.draft_id), refused(404))
    },
  )

  await t.test('a draft outlasts its author', async () => {
    const signIn = async (name: string, role: Role) => ({
      user_id: await makeUser(kit, name, [role]),
      ...(await signInAs(kit, name)),
    })
    const ada = await signIn('ada', 'security_admin')
    const made = (await ada.post(path, { name: 'of ada', text: broken })).json
    assert.deepEqual([made.created_by, made.created_by_name, made.updated_by_name], [ada.user_id, 'ada', 'ada'])
    assert.deepEqual(
      (await ada.get(`${path}?created_by=me`)).json.items.map((d: { name: string }) => d.name),
      ['of ada'],
    )
    assert.deepEqual((await admin.listPolicyDrafts({ query: { created_by: 'me' } })).items, [])
    await admin.changeUser({ body: { operation: 'delete', user_id: ada.user_id } })
    await runJob(kit.app, 'forget_what_is_over')
    const left = await get(admin, made.draft_id)
    assert.deepEqual([left.text, left.created_by], [broken, ada.user_id])
    await remove(admin, made.draft_id)
  })

  await t.test(
    'of twenty saves with one ETag on two replicas one wins, and the losers get the version to read',
    async () => {
      const { draft_id } = await create(admin)
      const ifMatch = String(
        (await call(kit, { method: 'GET', path: `${path}/${draft_id}` }, bearer(kit.adminKey))).headers.etag,
      )
      const answers = await times(20, (i) =>
        call(
          { ...kit, ...kit.replicas[i % 2]! },
          { method: 'PUT', path: `${path}/${draft_id}` },
          (m, url) => ({ ...bearer(kit.adminKey)(m, url), 'if-match': ifMatch }),
          { name: 'wiki', text: `text ${i}`, base: null },
        ),
      )
      assert.deepEqual([countOf(statusesOf(answers), 200), countOf(statusesOf(answers), 422)], [1, 19])
      assert.match(answers.find(({ status }) => status === 422)!.text, /changed meanwhile.*read it again/)
      assert.equal((await get(admin, draft_id)).text, answers.find(({ status }) => status === 200)!.json.text)
      assert.equal((await eventsOf(kit, 'policy.draft_updated')).filter((e) => e.draft_id === draft_id).length, 1)
      const same = await get(admin, draft_id)
      const again = await admin.updatePolicyDraft({ params: { draft_id }, body: same }, { ifMatch: versionOf(same) })
      assert.equal(again.updated_at, same.updated_at, 'a save without a change records nothing')
      await remove(admin, draft_id)
    },
  )

  await t.test('the limits of a caller and of the tenant hold under twenty concurrent requests', async () => {
    const fill = (n: number, by: string) =>
      kit.db.inTenant(kit.tenant, (tx) =>
        sql`insert into policy_drafts (tenant_id, draft_id, name, text, size, digest, created_by, created_at, updated_at)
          select ${kit.tenant}::uuid, gen_random_uuid(), 'filler', '', 0, '', ${by}, now(), now()
          from generate_series(1, ${n}) as n`.execute(tx),
      )
    const first = await create(admin)
    await fill(draftLimits.own - 6, first.created_by!)
    const own = await times(20, (i) => send(kit, { name: `n${i}`, text: '' }, kit.replicas[i % 2]!))
    assert.deepEqual([countOf(statusesOf(own), 201), countOf(statusesOf(own), 422)], [5, 15])
    assert.match(own.find(({ status }) => status === 422)!.text, /you have 50 drafts, which is the maximum/)
    await remove(admin, first.draft_id)
    await fill(draftLimits.tenant - draftLimits.own, 'key_of_others')
    const all = await times(20, (i) => send(kit, { name: `n${i}`, text: '' }, kit.replicas[i % 2]!))
    assert.equal(countOf(statusesOf(all), 201), 1)
    await assert.rejects(
      create(await kit.as('tenant_admin')),
      refused(422, /the tenant has 500 drafts, which is the maximum/),
    )
    const seen = new Set<string>()
    let cursor: string | null = null
    do {
      const page: Awaited<ReturnType<Client['listPolicyDrafts']>> = await admin.listPolicyDrafts({
        query: { limit: 200, ...(cursor && { cursor }) },
      })
      for (const { draft_id } of page.items) seen.add(draft_id)
      cursor = page.next_cursor
    } while (cursor !== null)
    assert.equal(seen.size, draftLimits.tenant)
  })
})

test('a base and a merge', async (t: TestContext) => {
  const kit = await startKit(t)
  const { admin } = kit
  const rule = (id: string, to: string) => ({ id, action: 'allow', from: { any: true }, to: [to] })
  const policy = (...rules: object[]) => ({ schema: 'holdfast.policy/1', rules })
  const publish = (document: Record<string, unknown>, channel: 'stable' | 'canary' = 'stable') =>
    admin.publishPolicy({ body: { channel, policy: document, supersede: channel === 'stable' } })
  const baseOf = ({ bundle_id, version, channel, digest }: Awaited<ReturnType<typeof publish>>) => ({
    bundle_id,
    version,
    channel,
    digest,
  })
  const merge = (draft_id: string, channel?: 'canary') =>
    admin.mergePolicyDraft({ params: { draft_id }, query: channel ? { channel } : {} })
  const [a, b] = [rule('a', '10.1.0.0/16'), rule('b', '10.2.0.0/16')]

  await t.test('without a published version the merge is the draft', async () => {
    const { draft_id } = await create(admin, '{"rules":[],\n"x-note":1}')
    const merged = await merge(draft_id)
    assert.deepEqual(merged, {
      base: null,
      current: null,
      text: '{\n  "rules": [],\n  "x-note": 1\n}',
      changed: false,
      conflicts: [],
    })
  })

  const first = await publish(policy(a, b))
  await t.test('a base is a published version of the tenant', async () => {
    const stranger = await kit.as('tenant_admin', await kit.newTenant())
    const theirs = await stranger.publishPolicy({ body: { channel: 'stable', policy: policyTo('10.9.0.0/16') } })
    for (const bundle_id of [theirs.bundle_id, encodeId('policy_bundle', crypto.randomUUID()), 'pol_x'])
      await assert.rejects(
        admin.createPolicyDraft({ body: { name: 'x', text: '', base: { bundle_id } } }),
        refused(422, /base\.bundle_id.*no such policy version/),
      )
    const base = { bundle_id: first.bundle_id }
    await assert.rejects(
      admin.createPolicyDraft({ body: { name: 'x', text: '', base: { ...base, version: 7 } } }),
      refused(422, /base\.version.*its value is 1/),
    )
    const made = await admin.createPolicyDraft({ body: { name: 'x', text: '', base } })
    assert.deepEqual(made.base, baseOf(first))
  })

  const edited = { ...policy(rule('a', '10.1.1.0/24'), rule('mine', '10.3.0.0/16')), 'x-note': 'mine' }
  const body = { name: 'wiki', text: JSON.stringify(edited), base: { bundle_id: first.bundle_id } }
  const { draft_id } = await admin.createPolicyDraft({ body })
  await t.test('changes of the current version are added, and conflicts keep the value of the draft', async () => {
    const untouched = await merge(draft_id)
    assert.deepEqual([JSON.parse(untouched.text), untouched.changed], [edited, false])
    const second = await publish(policy(rule('a', '10.1.2.0/24'), rule('theirs', '10.4.0.0/16')))
    const merged = await merge(draft_id)
    assert.deepEqual([merged.base, merged.current, merged.changed], [baseOf(first), baseOf(second), true])
    assert.equal(merged.text, JSON.stringify(JSON.parse(merged.text), null, 2))
    assert.deepEqual(JSON.parse(merged.text), {
      ...policy(rule('a', '10.1.1.0/24'), rule('theirs', '10.4.0.0/16'), rule('mine', '10.3.0.0/16')),
      'x-note': 'mine',
    })
    assert.deepEqual(merged.conflicts, [
      { part: 'rules', name: 'a', draft: rule('a', '10.1.1.0/24'), published: rule('a', '10.1.2.0/24'), base: a },
    ])
    const draft = await get(admin, draft_id)
    assert.deepEqual([draft.text, draft.base], [body.text, baseOf(first)], 'nothing is stored')
    const deleted = await publish(policy(b))
    const gone = await merge(draft_id)
    assert.deepEqual(gone.conflicts, [
      { part: 'rules', name: 'a', draft: rule('a', '10.1.1.0/24'), published: null, base: a },
    ])
    assert.equal(gone.current?.version, deleted.version)
  })

  await t.test('an active canary is merged on request; once it has ended, stable is', async () => {
    const canary = await publish(policy(a, b, rule('canary', '10.5.0.0/16')), 'canary')
    assert.deepEqual((await merge(draft_id, 'canary')).current, baseOf(canary))
    const stable = await publish(policy(a, b))
    assert.deepEqual((await merge(draft_id, 'canary')).current, baseOf(stable))
  })

  await t.test('a text that is no JSON object is refused with the place of its fault', async () => {
    const faults = [
      ['{\n  "rules": [\n}', /text: line 3, column 1: a value is expected here/],
      ['[]', /text: line 1, column 1: the document is not a JSON object/],
      ['{"rules": [], "rules": [1]}', /text: line 1, column 15: .*"rules\\?" twice/],
    ] as const
    for (const [text, fault] of faults)
      await assert.rejects(merge((await create(admin, text)).draft_id), refused(422, fault))
  })

  await t.test('a version on which a draft is based is not purged', async () => {
    const versions = async () => (await admin.listPolicyBundles({ query: { limit: 200 } })).items.map((v) => v.version)
    await kit.db.inTenant(kit.tenant, (tx) =>
      sql`insert into policy_bundles (tenant_id, bundle_id, version, seq, channel, digest, document, resolution, tests, impact, published_at)
        select ${kit.tenant}::uuid, gen_random_uuid(), 1000 + n, 0, 'canary', '', '{}', '{}', tests, impact, now()
        from generate_series(1, 205) as n, (select tests, impact from policy_bundles where tenant_id = ${kit.tenant} limit 1) as real`.execute(
        tx,
      ),
    )
    await kit.db.inTenant(kit.tenant, (tx) =>
      sql`update policy_bundles set published_at = now() - interval '3 years' where tenant_id = ${kit.tenant} and version < 1000`.execute(
        tx,
      ),
    )
    const before = await versions()
    assert.ok(before.length >= 200)
    await runJob(kit.app, 'forget_what_is_over')
    const { rows } = await kit.db.inTenant(kit.tenant, (tx) =>
      sql<{
        version: number
      }>`select version from policy_bundles where tenant_id = ${kit.tenant} and version < 1000 order by version`.execute(
        tx,
      ),
    )
    const stable = (await admin.listPolicyBundles({ query: { channel: 'stable', limit: 1 } })).items[0]!.version
    assert.ok(
      rows.some(({ version }) => version === first.version),
      'the base of a draft',
    )
    assert.ok(
      rows.some(({ version }) => version === stable),
      'the delivered version',
    )
    assert.ok(!rows.some(({ version }) => version === 2), 'a version that nothing needs')
    assert.equal((await merge(draft_id)).base?.version, first.version)
  })
})

test('other administrators hear of a saved draft at once', async (t) => {
  const kit = await startKit(t)
  const open = openStreams(t, kit)
  const stream = await open(bearer(kit.adminKey)('GET', ''), '?kinds=policy_drafts')
  await stream.event('ready')
  const { draft_id } = await create(await kit.as('security_admin'))
  const { data } = await stream.event('changed')
  assert.deepEqual(data.changes, [{ kind: 'policy_drafts', ids: [draft_id], many: false }])
})
