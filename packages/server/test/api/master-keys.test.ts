import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mintChallenge, readToken, sealedKid, unseal } from '@holdfast/crypto'
import pg from 'pg'
import { replaceValues, secretColumns, valuesUnder } from '../../src/db/secret-columns.ts'
import { MasterKeyError } from '../../src/modules/secrets/index.ts'
import { withGateway } from '../gateways.ts'
import { type Kit, type Replica, runJob, secretsOf, startKit, times } from '../kit.ts'
import { cellsOf, type File, idOf, onlyA, onlyB, readsB, roll, startRotation, writesB } from '../master-keys.ts'
import { trySignIn } from '../people.ts'
import { until } from '../promptly.ts'

const jwe = /^eyJ[\w-]+\.[\w-]*\.[\w-]+\.[\w-]+\.[\w-]+$/
/** The columns in which there is something sealed, and under which keys. */
async function sealedIn(kit: Kit): Promise<Map<string, Set<string>>> {
  const found = new Map<string, Set<string>>()
  for (const { relation, column, bytes } of await cellsOf(kit)) {
    const text = bytes.toString('latin1')
    if (!jwe.test(text)) continue
    const place = `${relation}.${column}`
    found.set(place, (found.get(place) ?? new Set()).add(sealedKid(text)))
  }
  return found
}
const keysIn = async (kit: Kit) => [...new Set([...(await sealedIn(kit)).values()].flatMap((kids) => [...kids]))].sort()
const statusOf = async (kit: Kit, replica: Replica) => {
  const { items, replicas } = await kit.clientFor(kit.adminKey, replica).listMasterKeys()
  return { replicas, a: items.find((k) => k.key_id === idOf.a)!, b: items.find((k) => k.key_id === idOf.b) }
}

test('a rotation of the master key on two replicas ends no credential, and leaves nothing under the old one', async (t) => {
  const rotation = await startRotation(t)
  const { kit, clock, useAll, signInWithCode, signInWithTotp } = rotation
  const useMany = (replicas: readonly Replica[]) => times(20, (i) => useAll(replicas[i % replicas.length]!))
  let running: readonly Replica[] = kit.replicas.slice()
  await useMany(running)

  await t.test('the next key stands last: all read it, none writes under it', async () => {
    const [one, two] = running
    await one!.stop()
    running = [two!, await kit.startReplica(readsB)]
    await useMany(running)
    running = [running[1]!, ...(await roll(kit, [two!], readsB))]
    await useMany(running)
    assert.equal((await signInWithCode(running[0]!)).status, 200)
    assert.deepEqual(await keysIn(kit), [idOf.a])
    const { replicas, a, b } = await statusOf(kit, running[0]!)
    assert.deepEqual([replicas, a.line, a.reading, a.writing, a.needed, a.removable], [2, 1, 2, 2, true, false])
    assert.deepEqual([b?.line, b?.reading, b?.writing, b?.needed, b?.version], [2, 2, 0, false, 2])
  })

  await t.test('it stands first on one replica and last on the other: each reads what the other writes', async () => {
    const [first, second] = running
    await first!.stop()
    running = [await kit.startReplica(writesB), second!]
    await useMany(running)
    const [next, previous] = running
    for (const [from, to] of [
      [next!, previous!],
      [previous!, next!],
    ] as const) {
      const made = await kit.clientFor(kit.adminKey, from).createApiKey({ body: { name: 'new', role: 'viewer' } })
      assert.deepEqual((await kit.clientFor(made.secret, to).me()).roles, ['viewer'])
      const signedIn = await trySignIn(kit, 'admin', { password: onlyA.adminPassword! }, { replica: from })
      const cookie = String(signedIn.headers['set-cookie']).split(';')[0]!
      const seen = await fetch(`${to.url}/v1/admin/me`, { headers: { cookie } })
      assert.equal(seen.status, 200)
    }
    // The job of a replica that writes under the former key leaves alone what is under the next one.
    const before = await sealedIn(kit)
    assert.equal(await runJob(previous!.app, 'rewrap_secrets'), 0)
    assert.deepEqual(await sealedIn(kit), before)
    await runJob(next!.app, 'rewrap_secrets')
    const { a } = await statusOf(kit, next!)
    assert.deepEqual([a.needed, a.writing], [true, 1], 'somebody still writes under it')
  })

  await t.test('it stands first everywhere, and all is taken to it while everything is used', async () => {
    running = [running[0]!, ...(await roll(kit, [running[1]!], writesB))]
    await useMany(running)
    assert.equal((await signInWithCode(running[1]!)).status, 200)
    const [one, two] = running
    await Promise.all([
      runJob(one!.app, 'rewrap_secrets'),
      runJob(two!.app, 'rewrap_secrets'),
      useMany(running),
      signInWithTotp(two!),
    ])
    await runJob(one!.app, 'rewrap_secrets')
    assert.deepEqual(await keysIn(kit), [idOf.b])
    const { a, b } = await statusOf(kit, one!)
    assert.deepEqual([a.sealed, a.digests, a.needed, a.writing, a.removable], [0, 0, false, 0, false])
    assert.ok(b!.sealed! > 10 && b!.digests! > 10 && b!.needed)
    clock.advance(15 * 60)
    assert.equal((await statusOf(kit, one!)).a.removable, true)
    await useMany(running)
    assert.equal((await signInWithCode(one!)).status, 200)
    assert.equal((await signInWithTotp(one!)).status, 200)
  })

  await t.test('the old line is gone: whatever was there before goes on', async () => {
    running = await roll(kit, running, onlyB)
    await useMany(running)
    assert.equal((await signInWithCode(running[0]!)).status, 200)
    assert.equal((await signInWithTotp(running[1]!)).status, 200)
    const { a } = await statusOf(kit, running[0]!)
    assert.deepEqual([a.line, a.reading, a.needed, a.removable], [null, 0, false, true])
  })

  await t.test('a dump holds nothing that the old key opens, and no digest that it made', async () => {
    const cells = await cellsOf(kit)
    const tokens = [kit.adminKey, rotation.secret, rotation.token, rotation.cookie.split('=')[1]!]
    for (const token of tokens) {
      const { digest } = readToken(kit.peppers, token)!
      assert.deepEqual(
        cells.filter(({ bytes }) => bytes.includes(digest)).map(({ relation, column }) => `${relation}.${column}`),
        [],
      )
    }
    for (const { bytes } of cells) {
      const text = bytes.toString('latin1')
      if (!jwe.test(text)) continue
      const { ctx } = JSON.parse(Buffer.from(text.split('.')[0]!, 'base64url').toString()) as { ctx: string }
      await unseal(onlyB.kek, ctx, text)
      await assert.rejects(unseal(onlyA.kek, ctx, text), { code: 'unknown_key' })
    }
    for (const { relation, column, bytes } of cells)
      if (column.endsWith('_digest_version')) assert.equal(bytes.toString(), '2', `${relation}.${column}`)
  })
})

test('every column in which something sealed is found is one that the job knows', async (t) => {
  const { kit } = await startRotation(t)
  const known = await kit.db.acrossTenants(secretColumns)
  const nameOf = (of: (typeof known)[number]) => `${of.table}.${of.column}`
  const found = [...(await sealedIn(kit)).keys()]
  assert.ok(found.length >= 7, found.join())
  assert.deepEqual(
    found.filter((place) => !known.some((of) => of.kind === 'sealed' && nameOf(of) === place)),
    [],
  )
  // What is never found under another name is found by this one: each of them was tried, or lasts for minutes.
  assert.deepEqual(known.filter((of) => of.kind === 'sealed' && !found.includes(nameOf(of))).map(nameOf), [
    'device_grants.secret_jwe',
    'sign_in_requests.verifier_jwe',
  ])
  assert.deepEqual(known.filter((of) => of.kind === 'digest').map(nameOf), [
    'admin_sessions.secret_digest',
    'api_keys.secret_digest',
    'enrollment_tokens.secret_digest',
    'gateway_secrets.secret_digest',
    'recovery_codes.code_digest',
  ])
})

const refusesToStart = (kit: Kit, file: File, why: RegExp) =>
  assert.rejects(kit.startReplica(file), (e: unknown) => {
    assert.ok(e instanceof MasterKeyError, String(e))
    assert.match(e.message, why)
    assert.match(e.message, /^The master key|^Another replica/)
    assert.ok(!e.message.includes('\n'))
    return true
  })

test('no step can be left out: a start that would lock somebody out of something says so and ends', async (t) => {
  const kit = await startKit(t)
  const [first] = kit.replicas

  await t.test('a key that another replica can not read is not written under', async () => {
    await refusesToStart(kit, writesB, new RegExp(`can not read the master key ${idOf.b}: put its line last`))
    assert.deepEqual(await keysIn(kit), [idOf.a])
  })
  const reads = await kit.startReplica(readsB)
  await first!.stop()
  const writes = await kit.startReplica(writesB)

  await t.test('a replica without the key that others write under does not start', () =>
    refusesToStart(kit, onlyA, new RegExp(`The master key ${idOf.b} is in use and not in HOLDFAST_MASTER_KEY_FILE`)),
  )
  await t.test('nor one without the key under which there still is something, which it names', () =>
    refusesToStart(kit, onlyB, new RegExp(`The master key ${idOf.a} is in use`)),
  )
  await t.test('nor one that knows neither', () => refusesToStart(kit, secretsOf('a stranger'), /is in use and not in/))

  await t.test('while one replica still writes under a key it stays needed; then it is not', async () => {
    await runJob(writes.app, 'rewrap_secrets')
    assert.deepEqual([(await statusOf(kit, writes)).a.sealed, (await statusOf(kit, writes)).a.needed], [0, true])
    await reads.stop()
    await runJob(writes.app, 'rewrap_secrets')
    assert.equal((await statusOf(kit, writes)).a.needed, false)
  })
  await t.test('a key that was replaced does not write again', () =>
    refusesToStart(kit, readsB, new RegExp(`The master key ${idOf.a} was replaced by ${idOf.b}: put that one first`)),
  )
})

test('what a code was matched with is the factor, however its seed is sealed by then', async (t) => {
  const { kit, signInWithTotp, signInWithCode } = await startRotation(t)
  const [reads, other] = await roll(kit, kit.replicas.slice(), readsB)
  const [writes] = await roll(kit, [other!], writesB)
  const owner = new pg.Client({ connectionString: kit.databaseUrl })
  await owner.connect()
  kit.after(() => owner.end())
  for (const signIn of [signInWithTotp, signInWithCode]) {
    // It has matched the code and waits for the row of its user while the seed is sealed anew.
    await owner.query("begin; select from users where username = 'ana' for update")
    const signedIn = signIn(reads!)
    await until(async () => {
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

test('what only a MAC vouches for is good for as long as its master key is there', async (t) => {
  const kit = await startKit(t)
  const challenge = mintChallenge(kit.peppers, kit.tenant, new Date(Date.now() + 60_000)).token
  const [first] = kit.replicas
  const reads = await kit.startReplica(readsB)
  await first!.stop()
  const writes = await kit.startReplica(writesB)
  await reads.stop()
  assert.equal(readToken(writes.peppers, challenge)?.version, 1)
  await runJob(writes.app, 'rewrap_secrets')
  const [alone] = await roll(kit, [writes], onlyB)
  assert.equal(readToken(alone!.peppers, challenge), undefined)
  assert.equal(readToken(alone!.peppers, kit.adminKey)?.version, 1)
})

test('the gateway service secret of each line is good; the file shows that of the first', async (t) => {
  const kit = await startKit(t)
  const { gateway } = await withGateway(kit)
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

test('a value that somebody else has replaced meanwhile is left to them', async (t) => {
  const kit = await startKit(t)
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
