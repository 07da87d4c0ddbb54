import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { encodeId } from '../../src/kernel/ids.ts'
import { provision, pushed, says } from '../support/clients/scim-client.ts'
import { startKit } from '../support/deployment/deployment.ts'

const size = 50_000
type Look = { text: string; values: unknown[] }

test('a group of 50,000 is changed by a thousand in as many statements as one of none, and written nowhere as a whole', async (t) => {
  const kit = await startKit(t)
  const { scim } = await provision(kit)
  const [first = ''] = await pushed(scim, ['first'])
  const made = async (name: string) => String((await scim.post('Groups', { displayName: name })).json.id)
  const [large, small] = [await made('large'), await made('small')]
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  kit.after(() => owner.end())
  // 50,000 users of the directory; all but the last 2,000 are in the group.
  const { rows: users } = await owner.query<{ user_id: string }>(
    `insert into users (tenant_id, user_id, external_id, username, source, directory_id)
    select d.tenant_id, gen_random_uuid(), 'x' || n, 'x' || n, 'directory', d.directory_id
    from directories d, generate_series(1, $1::integer) as n returning user_id`,
    [size],
  )
  const ids = users.map((u) => encodeId('user', u.user_id))
  await owner.query(
    `insert into group_members (tenant_id, group_id, user_id)
    select g.tenant_id, g.group_id, m.id from groups g, unnest($1::uuid[]) as m (id) where g.name = 'large'`,
    [users.slice(0, -2000).map((u) => u.user_id)],
  )
  await owner.query(`update groups set member_count = $1 where name = 'large'`, [size - 2000])
  await owner.query('analyze users, groups, group_members')
  const changes = async () => {
    const { rows } = await owner.query<{ n: number }>('select count(*)::integer as n from changes')
    return rows[0]?.n ?? 0
  }
  const courses: string[][] = []
  const current = new Map<pg.Client, string[]>()
  const looked: Look[] = []
  const { query } = pg.Client.prototype
  t.mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...given: Parameters<typeof query>) {
    const { text = String(given[0]), values = [] } = given[0] as Partial<Look>
    if (/^begin/i.test(text)) {
      const begun: string[] = []
      current.set(this, begun)
      courses.push(begun)
    }
    current.get(this)?.push(text)
    if (this !== owner && /from users u where/.test(text)) looked.push({ text, values })
    return query.apply(this, given)
  })
  /** The number of statements of the transaction that locked the directory. */
  const statements = () =>
    courses.find((course) => course.some((text) => /"directories".*for no key update/.test(text)))?.length ?? 0
  const costOf = async (gid: string, op: string, users: readonly string[]) => {
    courses.length = 0
    const before = await changes()
    const started = performance.now()
    const answer = await scim.patch(`Groups/${gid}`, [
      { op, path: 'members', value: users.map((value) => ({ value })) },
    ])
    assert.equal(answer.status, 204, answer.text)
    const took = Math.round(performance.now() - started)
    t.diagnostic(`${op} of ${users.length}: ${statements()} statements, ${took} ms`)
    return { statements: statements(), told: (await changes()) - before }
  }
  const last = ids.slice(-1000)
  const one = await costOf(small, 'add', [first])
  const few = await costOf(small, 'add', last)
  const many = await costOf(large, 'add', last)
  assert.deepEqual([few.statements, many.statements], [one.statements, one.statements], 'the same, whatever the size')
  assert.ok(one.statements > 5 && one.statements <= 25)
  assert.equal(many.told, 1000, 'one change for each who moved')
  assert.equal((await costOf(large, 'add', last)).told, 0, 'what holds already is told to nobody')
  const gone = await costOf(large, 'remove', last)
  assert.ok(gone.statements <= many.statements + 3, 'beside that, how much may go is counted')
  const counted = (await kit.admin.listGroups()).items.find((g) => g.group_id === large)
  assert.equal(counted?.member_count, size - 2000)
  const shown = await scim.get(`Groups/${large}?excludedAttributes=members`)
  assert.ok(shown.text.length < 1000)

  // More than 100,000 are listed nowhere.
  const setCount = (n: number) => owner.query("update groups set member_count = $1 where name = 'large'", [n])
  await setCount(100_001)
  for (const path of [`Groups/${large}`, 'Groups', `Groups?filter=${encodeURIComponent('displayName eq "large"')}`]) {
    const answer = await scim.get(path)
    says({ ...answer, text: answer.text.slice(0, 200) }, 400, 'tooMany')
  }
  await setCount(size - 2000)

  // Queries that identity providers send before each push use an index.
  for (const filter of ['userName eq "X77"', 'externalId eq "x77"', `id eq "${ids[77]}" and active eq true`]) {
    looked.length = 0
    assert.equal((await scim.idsOf('Users', filter)).length, 1, filter)
    assert.ok(looked.length >= 2)
    for (const { text, values } of looked) {
      const { rows } = await owner.query<Record<string, string>>(`explain ${text}`, values)
      const plan = rows.map((r) => r['QUERY PLAN']).join('\n')
      const [, read = ''] = /rows=(\d+)/.exec(plan) ?? []
      assert.ok(!/Seq Scan on users/.test(plan) && Number(read) < 100, `${filter}\n${plan}`)
    }
  }
})
