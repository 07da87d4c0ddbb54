import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintChallenge, readToken } from '@holdfast/crypto'
import { sql } from 'kysely'
import pg from 'pg'
import { replaceValues, secretColumns, valuesUnder } from '../../src/db/secret-columns.ts'
import { MasterKeyError } from '../../src/modules/secrets/index.ts'
import { presence } from '../../src/modules/secrets/registry.queries.ts'
import { makeGateway } from '../support/actors/gateways.ts'
import {
  createClock,
  type Kit,
  type Replica,
  runJob,
  secretsOf,
  startKit,
  times,
} from '../support/deployment/deployment.ts'
import {
  keyIds,
  type MasterKeyFile,
  masterKeyStatus,
  onlyA,
  onlyB,
  readsB,
  replaceReplicas,
  sealingKeysIn,
  startRotation,
  writesB,
} from '../support/deployment/master-key-rotation.ts'
import { until } from '../support/deployment/wait-until.ts'

const assertStartRefused = (kit: Kit, file: MasterKeyFile, why: RegExp) =>
  assert.rejects(kit.startReplica(file), (e: unknown) => {
    assert.ok(e instanceof MasterKeyError, String(e))
    assert.match(e.message, why)
    assert.match(e.message, /^The master key|^A running replica/)
    assert.ok(!e.message.includes('\n'))
    return true
  })

test('a start with a skipped rotation step is refused with the reason', async (t) => {
  const kit = await startKit(t)
  const [first] = kit.replicas
  const challenge = mintChallenge(kit.peppers, kit.tenant, new Date(Date.now() + 60_000)).token

  await t.test('a key that another replica cannot read is not used for writing', async () => {
    await assertStartRefused(kit, writesB, new RegExp(`does not have the master key ${keyIds.b}: put its line last`))
    assert.deepEqual(await sealingKeysIn(kit), [keyIds.a])
  })
  const reads = await kit.startReplica(readsB)
  await first!.stop()
  const writes = await kit.startReplica(writesB)

  await t.test('a replica without the current writing key does not start', () =>
    assertStartRefused(
      kit,
      onlyA,
      new RegExp(`The master key ${keyIds.b} is in use, but it is not in HOLDFAST_MASTER_KEY_FILE`),
    ),
  )
  await t.test('a replica without a key that is still needed does not start, and names the key', () =>
    assertStartRefused(kit, onlyB, new RegExp(`The master key ${keyIds.a} is in use`)),
  )
  await t.test('a replica that knows neither key does not start', () =>
    assertStartRefused(kit, secretsOf('a stranger'), /is in use, but it is not in/),
  )

  await t.test('a key stays needed while a replica still writes under it', async () => {
    await runJob(writes.app, 'rewrap_secrets')
    assert.deepEqual(
      [(await masterKeyStatus(kit, writes)).a.sealed, (await masterKeyStatus(kit, writes)).a.needed],
      [0, true],
    )
    await reads.stop()
    // The database ends the claim of a replica shortly after its connection.
    await until(async () => {
      await runJob(writes.app, 'rewrap_secrets')
      return !(await masterKeyStatus(kit, writes)).a.needed
    })
  })
  await t.test('a replaced key is not used for writing again', () =>
    assertStartRefused(
      kit,
      readsB,
      new RegExp(`The master key ${keyIds.a} was replaced by ${keyIds.b}: put the line of ${keyIds.b} first`),
    ),
  )
  await t.test('a token without a row is valid as long as its master key is present', async () => {
    assert.equal(readToken(writes.peppers, challenge)?.version, 1)
    const [alone] = await replaceReplicas(kit, [writes], onlyB)
    assert.equal(readToken(alone!.peppers, challenge), undefined)
    assert.equal(readToken(alone!.peppers, kit.adminKey)?.version, 1)
  })
})

test('replicas with the same key file, and one with the next line', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  await t.test('a replica whose connection was cut is counted again after its reconnect', async () => {
    const running = async () => (await masterKeyStatus(kit, kit.replicas[0]!)).replicas
    assert.equal(await running(), 2)
    const owner = new pg.Client({ connectionString: kit.databaseUrl })
    await owner.connect()
    await owner.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'holdfast feed'`,
    )
    await owner.end()
    await kit.heard()
    assert.equal(await running(), 2)
    const { a } = await masterKeyStatus(kit, kit.replicas[1]!)
    assert.deepEqual([a.reading, a.writing], [2, 2])
  })
  await t.test('the gateway service secret of each line is accepted; the file shows that of the first', async () => {
    const { gateway } = await makeGateway(kit)
    const query = { tenant_id: gateway.tenant_id, gateway_id: gateway.gateway_id }
    const [first] = kit.replicas
    const reads = await kit.startReplica(readsB)
    const works = (replica: Replica, secret: string) =>
      kit
        .clientFor(secret, replica)
        .unifiedPolicy({ query })
        .then(
          () => true,
          () => false,
        )
    const [ofA, ofB] = readsB.gatewayServiceSecrets
    assert.deepEqual([await works(first!, ofA!), await works(first!, ofB!)], [true, false])
    assert.deepEqual([await works(reads, ofA!), await works(reads, ofB!)], [true, true])
  })
  // Last, since it invalidates the kit's own key.
  await t.test('a value that was replaced meanwhile is not overwritten', async () => {
    const columns = await kit.db.acrossTenants(secretColumns)
    const of = columns.find((c) => c.table === 'api_keys')!
    const page = { tenant: kit.tenant, mark: '1', after: [], limit: 10 }
    const [found] = await kit.db.inTenant(kit.tenant, (tx) => valuesUnder(tx, of, page))
    const replace = (fresh: string) =>
      kit.db.inTenant(kit.tenant, (tx) =>
        replaceValues(tx, of, { tenant: kit.tenant, version: 1, values: [{ ...found!, fresh }] }),
      )
    const results = await times(20, (i) => replace(`\\x${String(i).padStart(64, '0')}`))
    assert.deepEqual(results.sort(), [...Array(19).fill(0), 1])
    const other = await kit.newTenant()
    const foreign = { ...page, tenant: other }
    assert.deepEqual(await kit.db.inTenant(other, (tx) => valuesUnder(tx, of, foreign)), [])
  })
})

test('a value that cannot be unsealed stays, is reported, and keeps its key needed; all others are rewritten', async (t) => {
  const kit = await startKit(t)
  await kit.newTenant()
  const oidc = { issuer: 'https://192.0.2.1', client_id: 'holdfast', client_secret: 'a secret of the provider' }
  for (const name of ['good', 'bad'])
    await kit.admin.createIdentityProvider({ body: { name, kind: 'oidc', enabled: false, oidc } })
  const ruined = await kit.db.inTenant(kit.tenant, async (tx) => {
    const { client_secret_jwe: sealed } = await tx
      .updateTable('identity_providers')
      .set({ client_secret_jwe: sql`left(client_secret_jwe, -4)` })
      .where('tenant_id', '=', kit.tenant)
      .where('name', '=', 'bad')
      .returning('client_secret_jwe')
      .executeTakeFirstOrThrow()
    return String(sealed)
  })
  await kit.replicas[0]!.stop()
  const writes = await kit.startReplica(writesB)
  await runJob(writes.app, 'rewrap_secrets')
  const { a } = await masterKeyStatus(kit, writes)
  assert.deepEqual([a.sealed, a.digests, a.needed], [1, 0, true])
  assert.ok(
    kit.logs.some((line) => line.includes('1 values of identity_providers.client_secret_jwe cannot be decrypted')),
  )
  assert.ok(!kit.logs.some((line) => line.includes(ruined)))
})

test('a value written late under an unused key is rewritten, or makes the key needed again', async (t) => {
  const clock = createClock()
  const kit = await startKit(t, { now: clock.now })
  const oidc = { issuer: 'https://192.0.2.1', client_id: 'holdfast', client_secret: 'a secret of the provider' }
  await kit.admin.createIdentityProvider({ body: { name: 'late', kind: 'oidc', enabled: false, oidc } })
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  kit.after(() => owner.end())
  const put = (jwe: string) => owner.query('update identity_providers set client_secret_jwe = $1', [jwe])
  const { rows } = await owner.query<{ sealed: string }>('select client_secret_jwe as sealed from identity_providers')
  const { sealed } = rows[0]!
  const [first] = kit.replicas
  await first!.stop()
  const writes = await kit.startReplica(writesB)
  const run = async () => {
    await runJob(writes.app, 'rewrap_secrets')
    return (await masterKeyStatus(kit, writes)).a
  }
  assert.equal((await run()).needed, false)

  // The value of a transaction whose replica ended before its commit was complete.
  await put(sealed)
  const { sealed: left, needed, removable } = await run()
  assert.deepEqual([left, needed, removable], [0, false, false])
  assert.deepEqual(await sealingKeysIn(kit), [keyIds.b])
  await put(sealed.slice(0, -4))
  const kept = await run()
  assert.deepEqual([kept.sealed, kept.needed, kept.unused_since], [1, true, null])
  await put(sealed)
  await run()
  clock.advance(15 * 60)
  assert.equal((await masterKeyStatus(kit, writes)).a.removable, true)

  await owner.query('select pg_advisory_lock_shared($1, $2)', [presence.writes, 1])
  const { removable: whileWritten, writing } = (await masterKeyStatus(kit, writes)).a
  assert.deepEqual([whileWritten, writing], [false, 1], 'not while a replica writes under it')
})

test('values sealed under a key stay valid during its replacement and after three more', async (t) => {
  const { kit, useAll, signInWithTotp, signInWithCode } = await startRotation(t)
  let running: readonly Replica[] = kit.replicas.slice()
  await t.test('a code matched during a rewrite still completes its sign-in', async () => {
    const [reads, other] = await replaceReplicas(kit, kit.replicas.slice(), readsB)
    const [writes] = await replaceReplicas(kit, [other!], writesB)
    running = [reads!, writes!]
    const owner = new pg.Client({ connectionString: kit.databaseUrl })
    await owner.connect()
    kit.after(() => owner.end())
    for (const signIn of [signInWithTotp, signInWithCode]) {
      // The sign-in has matched the code and waits for the user's row while the seed is sealed again.
      await owner.query("begin; select from users where username = 'ana' for update")
      let answer: string | undefined
      const signedIn = signIn(reads!).then((got) => {
        answer = `${got.status} ${got.text}`
        return got
      })
      await until(async () => {
        assert.equal(answer, undefined, 'answered before it waited')
        const { rows } = await owner.query(
          "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
        return rows.length > 0
      }, 'the sign-in waits')
      await runJob(writes!.app, 'rewrap_secrets')
      await owner.query('commit')
      assert.equal((await signedIn).status, 200)
    }
  })
  await t.test(
    'values from the first master key stay valid after three rotations, with nothing left under it',
    async () => {
      const third = 'the third master key'
      const files = [
        [writesB, onlyB],
        [secretsOf(third, 'the next master key'), secretsOf(third)],
      ] as const
      for (const [writes, alone] of files) {
        // No replica without the new key runs, so the new key may be used for writing at once.
        for (const { stop } of running) await stop()
        const replica = await kit.startReplica(writes)
        await runJob(replica.app, 'rewrap_secrets')
        await useAll(replica)
        running = await replaceReplicas(kit, [replica], alone)
        await useAll(running[0]!)
        assert.equal((await signInWithCode(running[0]!)).status, 200)
        assert.equal((await signInWithTotp(running[0]!)).status, 200)
      }
      assert.deepEqual(await sealingKeysIn(kit), [secretsOf(third).kek.kid])
      const { items } = await kit.clientFor(kit.adminKey, running[0]).listMasterKeys()
      assert.deepEqual(
        items.map(({ version, line, needed }) => [version, line, needed]),
        [
          [1, null, false],
          [2, null, false],
          [3, 1, true],
        ],
      )
    },
  )
})
