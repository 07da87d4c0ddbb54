import assert from 'node:assert/strict'
import { open, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { Decrypter, Encrypter } from 'age-encryption'
import { packTar, unpackTar } from 'modern-tar'
import { writeArchive } from '../../src/backup/archive.ts'
import { migrate } from '../../src/db/migrate.ts'
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts'
import { withClient } from '../support/database/test-database.ts'
import { createInnerContext, emptyDatabase, startOperator } from '../support/deployment/backup-drill.ts'
import { masterKeyLine, startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'

type File = { header: { name: string; size: number }; data?: Uint8Array }

/** Changes a backup as an attacker with its identity can; the identity also yields the recipient. */
async function remade(file: string, identityFile: string, recipient: string, change: (files: File[]) => File[]) {
  const identity = (await readFile(identityFile, 'utf8')).split('\n').find((line) => line.startsWith('AGE-'))!
  const decrypter = new Decrypter()
  decrypter.addIdentity(identity)
  const tar = gunzipSync(await decrypter.decrypt(await readFile(file)))
  const files = (await unpackTar(tar)) as File[]
  const changed = change(files).map(({ header, data }) => ({
    header: { ...header, size: data!.length },
    body: data!,
  }))
  const encrypter = new Encrypter()
  encrypter.addRecipient(recipient)
  return encrypter.encrypt(gzipSync(await packTar(changed)))
}

test('an altered backup is refused before anything is written', async (t) => {
  const kit = await startKit(t)
  const beside = createInnerContext(kit)
  const operator = await startOperator(t)
  assert.equal((await operator.backUp(kit.databaseUrl, 'good.age')).code, 0)
  const good = await readFile(operator.file('good.age'))
  assert.equal((await stat(operator.file('good.age'))).mode & 0o777, 0o600)
  assert.equal((await operator.verify('good.age')).code, 0)
  assert.ok(!good.includes('default'), 'nothing of it can be read')

  const url = await emptyDatabase(beside)
  const refused = async (name: string, bytes: Uint8Array, why: RegExp) => {
    await writeFile(operator.file(name), bytes)
    const { code, err } = await operator.restore(url, name)
    assert.equal(code, 2, name)
    assert.match(err, why, name)
    const tables = await withClient(url, (c) => c.query(`select from pg_tables where schemaname = 'public'`))
    assert.equal(tables.rowCount, 0, `${name}: nothing was written`)
  }
  await refused('empty', Buffer.alloc(0), /damaged|incomplete/)
  await refused('noise', Buffer.from('not a backup'), /damaged|incomplete/)
  for (const length of [good.length - 1, good.length - 17, Math.floor(good.length / 2), 300])
    await refused(`cut at ${length}`, good.subarray(0, length), /damaged|incomplete/)
  for (const at of [good.length - 5, Math.floor(good.length / 2), 250]) {
    const altered = Buffer.from(good)
    altered[at]! ^= 1
    await refused(`altered at ${at}`, altered, /damaged|incomplete|decrypt this backup/)
  }

  const forged = (change: (files: File[]) => File[]) =>
    remade(operator.file('good.age'), operator.file('backup.key'), operator.recipient, change)
  const same = await forged((files) => files)
  await writeFile(operator.file('same'), same)
  assert.equal((await operator.verify('same')).code, 0, 'packed by somebody else, but unaltered')
  const edit = (name: RegExp, from: string, to: string) => (files: File[]) =>
    files.map((f) =>
      name.test(f.header.name) ? { ...f, data: Buffer.from(Buffer.from(f.data!).toString().replace(from, to)) } : f,
    )
  const isTable = (f: File) => f.header.name.startsWith('tables/')
  const cases: [string, (files: File[]) => File[], RegExp][] = [
    ['a row altered', edit(/tables\/users\//, 'admin', 'adnim'), /table of contents/],
    ['a table left out', (files) => files.filter((f) => !/tables\/users\//.test(f.header.name)), /table of contents/],
    ['the end left out', (files) => files.slice(0, -1), /incomplete/],
    [
      'two tables swapped',
      (files) => [files[0]!, ...files.filter(isTable).reverse(), files.at(-1)!],
      /unexpected position/,
    ],
    ['the head altered', edit(/backup\.json/, '"tenants": 1', '"tenants": 2'), /table of contents/],
    ['another MAC', edit(/contents\.json/, '"value": "', '"value": "0'), /not a Holdfast backup/],
    ['more after the end', (files) => [...files, files.at(-2)!], /after its end/],
    [
      'another format',
      edit(/backup\.json/, 'holdfast-backup-1', 'holdfast-backup-2'),
      /this version of Holdfast cannot read/,
    ],
  ]
  for (const [name, change, why] of cases) await refused(name, await forged(change), why)

  // Recipients are public. Without one of our master keys, no accepted backup can be made.
  await writeFile(operator.file('theirs.key'), `${masterKeyLine('somebody else')}\n`)
  const theirs = { HOLDFAST_MASTER_KEY_FILE: operator.file('theirs.key') }
  assert.equal((await operator.backUp(kit.databaseUrl, 'theirs.age', theirs)).code, 0)
  await refused('theirs', await readFile(operator.file('theirs.age')), /master key .* add its line/)
  const { code, err } = await operator.restore(url, 'good.age', theirs)
  assert.deepEqual([code, /encrypted with the master key/.test(err)], [2, true], err)

  const stranger = await startOperator(t)
  await writeFile(stranger.file('good.age'), good)
  assert.match((await stranger.restore(url, 'good.age')).err, /None of the given identities can decrypt/)
})

test('a restore needs an empty database, and restores all or nothing', async (t) => {
  const kit = await startKit(t)
  const beside = createInnerContext(kit)
  const operator = await startOperator(t)
  assert.equal((await operator.backUp(kit.databaseUrl, 'good.age')).code, 0)
  const again = await operator.backUp(kit.databaseUrl, 'good.age')
  assert.deepEqual([again.code, /already exists/.test(again.err)], [2, true])
  assert.match((await operator.restore(kit.databaseUrl, 'good.age')).err, /not empty: it holds a deployment/)

  const foreign = await emptyDatabase(beside)
  await withClient(foreign, (c) => c.query('create table mine (id int)'))
  assert.match((await operator.restore(foreign, 'good.age')).err, /not empty: it has the table mine/)
  assert.match((await operator.backUp(foreign, 'no.age')).err, /no tables of Holdfast/)
  assert.ok(!(await readdir(operator.file(''))).some((name) => name.startsWith('no.age')), 'no file stays')

  const url = await emptyDatabase(beside)
  await migrate(url)
  await withClient(url, (c) => c.query('alter table users add constraint refuses check (username is null) not valid'))
  const { code, err } = await operator.restore(url, 'good.age')
  assert.equal(code, 2)
  assert.match(err, /Nothing was restored: .*refuses/)
  const left = await withClient(url, (c) =>
    c.query(`select (select count(*) from tenants)::int as tenants, (select count(*) from plans)::int as plans,
      (select count(*) from pg_trigger where tgenabled = 'D')::int as disabled`),
  )
  assert.deepEqual(left.rows, [{ tenants: 0, plans: 0, disabled: 0 }])
  await withClient(url, (c) => c.query('alter table users drop constraint refuses'))
  const both = await Promise.all([operator.restore(url, 'good.age'), operator.restore(url, 'good.age')])
  assert.deepEqual(both.map(({ code }) => code).sort(), [0, 2], 'of two at once one restores')

  await withClient(kit.databaseUrl, (c) => c.query(`insert into schema_migrations values (9999, 'later', 'x')`))
  await withClient(kit.databaseUrl, (c) =>
    c.query(`update schema_migrations set sha256 = repeat('0', 64) where version = 9999`),
  )
  assert.equal((await operator.backUp(kit.databaseUrl, 'later.age')).code, 0)
  const third = await emptyDatabase(beside)
  assert.match(
    (await operator.restore(third, 'later.age')).err,
    /by a newer Holdfast \(schema 9999.*install that version/,
  )
  await withClient(kit.databaseUrl, async (c) => {
    await c.query('delete from schema_migrations where version = 9999')
    await c.query(`update schema_migrations set sha256 = repeat('0', 64) where version = 50`)
  })
  assert.equal((await operator.backUp(kit.databaseUrl, 'other.age')).code, 0)
  assert.match(
    (await operator.restore(third, 'other.age')).err,
    /with the migration 50, which this version does not have/,
  )
  const untouched = await withClient(third, (c) => c.query(`select from pg_tables where schemaname = 'public'`))
  assert.equal(untouched.rowCount, 0)
})

test('a full disk fails the backup', {
  skip: process.platform !== 'linux' && '/dev/full is of Linux',
}, async (t) => {
  const operator = await startOperator(t)
  const full = await open('/dev/full', 'w')
  t.after(() => full.close())
  async function* entries() {
    for (let i = 0; ; i++) yield { name: `tables/x/${i}.copy`, bytes: Buffer.alloc(1 << 20, i) }
  }
  await assert.rejects(writeArchive(full, [operator.recipient], entries()), { code: 'ENOSPC' })
})

test('a backup can be restored twice, each time with sequence numbers above those issued before', async (t) => {
  const kit = await startKit(t)
  const beside = createInnerContext(kit)
  const operator = await startOperator(t)
  assert.equal((await operator.backUp(kit.databaseUrl, 'good.age')).code, 0)
  const numbersAt = async (url: string) => {
    const { rows } = await withClient(url, (c) => c.query<{ seq: string }>('select seq from tenant_epochs'))
    return Number(rows[0]!.seq)
  }
  const [first, second] = [await emptyDatabase(beside), await emptyDatabase(beside)]
  assert.equal((await operator.restore(first, 'good.age')).code, 0)
  const before = await numbersAt(first)
  assert.ok(before > 2 ** 32)
  const bumped = await withClient(first, (c) => c.query('update tenant_epochs set seq = seq + 100 returning seq'))
  await until(async () => {
    // A second has passed.
    const { rows } = await withClient(first, (c) =>
      c.query('select now() - fenced_at > $1 as so from tenant_epochs', ['1s']),
    )
    return rows[0].so
  }, 'a second')
  assert.equal((await operator.restore(second, 'good.age')).code, 0)
  assert.ok((await numbersAt(second)) > Number(bumped.rows[0].seq))

  const { code, err } = await operator.run({ DATABASE_URL: second }, 'restore', '--fence')
  assert.deepEqual([code, /--yes/.test(err)], [2, true], 'it is asked first')
  const fenced = await operator.run({ DATABASE_URL: second }, 'restore', '--fence', '--yes')
  assert.equal(fenced.code, 0, fenced.err)
})

test('a PostgreSQL user that owns only the database suffices', async (t) => {
  const kit = await startKit(t)
  const beside = createInnerContext(kit)
  const operator = await startOperator(t)
  assert.equal((await operator.backUp(kit.databaseUrl, 'good.age')).code, 0)
  const url = new URL(await emptyDatabase(beside))
  const role = `owner_${url.pathname.slice(1)}`
  await withClient(url.href, async (c) => {
    await c.query(`create role ${role} login createrole`)
    await c.query(`grant holdfast_app to ${role} with admin option`)
    await c.query(`alter database ${url.pathname.slice(1)} owner to ${role}`)
  })
  const superuser = url.href
  beside.after(() =>
    withClient(superuser, (c) =>
      c.query(`reassign owned by ${role} to current_user; drop owned by ${role}; drop role ${role}`),
    ),
  )
  url.username = role
  const restored = await operator.restore(url.href, 'good.age')
  assert.equal(restored.code, 0, restored.err)
  const again = await operator.backUp(url.href, 'again.age')
  assert.equal(again.code, 0, again.err)

  const nobody = new URL(superuser)
  nobody.username = `${role}_nobody`
  await withClient(superuser, (c) => c.query(`create role ${role}_nobody login; grant holdfast_app to ${role}_nobody`))
  beside.after(() => withClient(superuser, (c) => c.query(`drop role ${role}_nobody`)))
  const refused = await operator.backUp(nobody.href, 'nobody.age')
  assert.equal(refused.code, 2, 'no rows are passed over in silence')
})

test('the embedded database is restored into an empty folder, and backed up running or stopped', async (t) => {
  const kit = await startKit(t)
  const beside = createInnerContext(kit)
  const operator = await startOperator(t)
  assert.equal((await operator.backUp(kit.databaseUrl, 'good.age')).code, 0)
  const nothing = await operator.run({}, 'backup', operator.file('no.age'), '--recipient', operator.recipient)
  assert.match(nothing.err, /There is no database in/)
  const restored = await operator.run(
    {},
    'restore',
    operator.file('good.age'),
    '--identity',
    operator.file('backup.key'),
  )
  assert.equal(restored.code, 0, restored.err)
  const still = await operator.run({}, 'backup', operator.file('still.age'), '--recipient', operator.recipient)
  assert.equal(still.code, 0, still.err)
  const dataDir = operator.file('')
  const running = await startEmbeddedPostgres({ dataDir, log: { info: () => {}, warn: () => {} } })
  beside.after(() => running.stop())
  const live = await operator.run({}, 'backup', operator.file('live.age'), '--recipient', operator.recipient)
  assert.equal(live.code, 0, live.err)
  await withClient(running.connectionString, (c) => c.query('select 1'))
  const without = await operator.run({}, 'backup', operator.file('none.age'))
  assert.match(without.err, /at least one recipient/)
})
