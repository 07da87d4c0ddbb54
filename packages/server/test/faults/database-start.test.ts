import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { TLSSocket } from 'node:tls'
import { checkServer } from '../../src/db/check-server.ts'
import { withConnection } from '../../src/db/connection.ts'
import { connectDatabase } from '../../src/db/database.ts'
import { explainDatabaseError } from '../../src/db/explain-error.ts'
import { MigrationError, migrate } from '../../src/db/migrate.ts'
import { retryWhileUnavailable } from '../../src/db/unavailable.ts'
import { masterKeysInUse } from '../../src/modules/secrets/index.ts'
import { createTestDatabase, withClient } from '../support/database/test-database.ts'
import { ecKey } from '../support/providers/saml-responses.ts'
import { startPooler } from './pooler.ts'

/** A database, and a PostgreSQL user that has no privilege but to log in. */
async function startOperator(t: TestContext) {
  const { url, drop } = await createTestDatabase()
  const name = `operator_${randomBytes(4).toString('hex')}`
  const database = new URL(url).pathname.slice(1)
  const asSuperuser = (...statements: string[]) =>
    withClient(url, async (client) => {
      for (const statement of statements) await client.query(statement)
    })
  // The role is cluster-wide, and exists already if another test has migrated.
  await asSuperuser(
    'do $$ begin create role holdfast_app nologin; exception when duplicate_object or unique_violation then null; end $$',
    `create role ${name} login nocreaterole`,
  )
  t.after(async () => {
    await asSuperuser(`reassign owned by ${name} to current_user`, `drop owned by ${name}`, `drop role ${name}`)
    await drop()
  })
  const own = new URL(url)
  own.username = name
  return { url: own.href, name, database, asSuperuser }
}

test('a user without CREATEROLE is told each missing right, and migrates with an existing role', async (t) => {
  const { url, name, database, asSuperuser } = await startOperator(t)
  const steps = [
    {
      says: `user "${name}" lacks the privilege CREATE on schema public: run GRANT CREATE, USAGE ON SCHEMA public TO "${name}"; as a superuser in database ${database}.`,
      run: [`grant create, usage on schema public to "${name}"`],
    },
    {
      says: `user "${name}" may not switch to the role holdfast_app: run GRANT holdfast_app TO "${name}"; as a superuser in database ${database}.`,
      run: [`grant holdfast_app to "${name}"`],
    },
  ]
  for (const { says, run } of steps) {
    await assert.rejects(checkServer(url), { message: says })
    await asSuperuser(...run)
  }
  await checkServer(url)
  assert.deepEqual(await masterKeysInUse(url), [])
  assert.ok((await migrate(url)).applied.length > 50)
  await checkServer(url)

  const other = await startOperator(t)
  const another = new URL(url)
  another.username = other.name
  await asSuperuser(`grant create, usage on schema public to ${other.name}; grant holdfast_app to ${other.name}`)
  await assert.rejects(checkServer(another.href), {
    message: `user "${other.name}" does not own the tables of Holdfast, which belong to "${name}": run GRANT "${name}" TO "${other.name}"; as a superuser in database ${database}.`,
  })
})

test('a failed migration ends the start at once with its cause, even if its text looks like a lost connection', async (t) => {
  const { url, drop } = await createTestDatabase()
  t.after(drop)
  // The name of this table has "connection" in it, as errors of connections that are lost do.
  await withClient(url, (client) => client.query('create table connections_in_question ()'))
  const waits: unknown[] = []
  const starting = retryWhileUnavailable(
    () => migrate(url).then(() => {}),
    (e) => waits.push(e),
  )
  await assert.rejects(starting, (e: unknown) => {
    assert.ok(e instanceof MigrationError)
    assert.match(e.message, /^Migration \d{4}_\w+\.sql failed and was rolled back: .*already exists.*42P07/)
    return !e.message.includes('\n')
  })
  assert.deepEqual(waits, [])
})

test('a pooler in transaction mode is detected, as is one that takes no options', async (t) => {
  const { url, drop } = await createTestDatabase()
  t.after(drop)
  await checkServer(url)
  await assert.rejects(
    checkServer(await startPooler(t, url)),
    /^Error: a pooler in transaction mode .* pool_mode = session/,
  )
  const strict = await startPooler(t, url, { takesOptions: false })
  const refused = await checkServer(strict).catch((e: unknown) => e)
  assert.match(
    await explainDatabaseError(refused, strict),
    /^a pooler at .*unsupported startup parameter.*pool_mode = session/,
  )
})

/** Answers a TLS request as PostgreSQL does; without a certificate it refuses TLS. */
async function startTls(t: TestContext, certified: ReturnType<typeof ecKey> | undefined) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => {
      socket.write(certified ? 'S' : 'N')
      if (!certified) return
      const { pem, privateKey } = certified
      const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
      new TLSSocket(socket, { isServer: true, cert: pem, key }).on('error', () => {})
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `127.0.0.1:${(server.address() as { port: number }).port}`
}

test('a failed connection is explained: certificate, host, missing right, and the remedy', async (t) => {
  const privateCa = await startTls(t, ecKey())
  const plain = await startTls(t, undefined)
  const tls = '?sslmode=verify-full'
  const { url: good, drop } = await createTestDatabase()
  t.after(drop)
  const missing = new URL(good)
  missing.pathname = '/not_there'
  const rows: [url: string, says: RegExp][] = [
    [
      `postgres://u:hunter2@${privateCa}/d${tls}`,
      /subject CN=idp, issuer CN=idp, SHA-256 [0-9A-F:]{95}\) is issued by .* sslrootcert=/,
    ],
    [`postgres://u:hunter2@${plain}/d${tls}`, /does not support TLS: turn TLS on there/],
    ['postgres://u:hunter2@nowhere.invalid/d', /the host name nowhere\.invalid was not found/],
    ['postgres://u:hunter2@127.0.0.1:1/d', /nothing listens at 127\.0\.0\.1:1 \(ECONNREFUSED\)/],
    [missing.href, /there is no database "not_there" .* CREATE DATABASE "not_there" OWNER/],
  ]
  for (const [url, says] of rows) {
    const e = await withConnection(url, async () => {}).catch((error: unknown) => error)
    assert.ok(e instanceof Error, url)
    const explained = await explainDatabaseError(e, url)
    assert.match(explained, says)
    assert.match(explained, /^[^\n]{20,900}\.$/)
    assert.ok(!explained.includes('hunter2'), explained)
  }
})

test('connections that end during the shutdown are not reported', async (t) => {
  const { url, drop } = await createTestDatabase()
  t.after(drop)
  const errors: Error[] = []
  const db = connectDatabase(await startPooler(t, url), { max: 1, onError: (e) => errors.push(e) })
  await withClient(url, (client) =>
    client.query(
      'do $$ begin create role holdfast_app nologin; exception when duplicate_object or unique_violation then null; end $$',
    ),
  )
  assert.equal(await db.acrossTenants(async () => 1), 1)
  await db.close()
  await delay(100)
  assert.deepEqual(errors, [])
})
