import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readToken, unseal } from '@holdfast/crypto'
import { secretColumns } from '../../src/db/secret-columns.ts'
import { trySignIn } from '../support/actors/people.ts'
import type { Cell } from '../support/database/all-values.ts'
import { type Replica, runJob, times } from '../support/deployment/deployment.ts'
import {
  cellsOf,
  idOf,
  keysIn,
  onlyA,
  onlyB,
  placeOf,
  type Rotation,
  readsB,
  roll,
  sealedIn,
  sealedTexts,
  startRotation,
  statusOf,
  writesB,
} from '../support/deployment/master-key-rotation.ts'
import { tokenOfRun } from '../support/deployment/pkcs11-token.ts'

/** A PKCS#11 token seals its keys itself. */
const sealedByToken = tokenOfRun ? ['signing_keys.private_jwe'] : []

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
    // The job of a replica that writes under the previous key does not touch values under the next key.
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
    assert.ok(b!.sealed! > (tokenOfRun ? 3 : 10) && b!.digests! > 10 && b!.needed, JSON.stringify(b))
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
    assert.deepEqual(placesOfDigests(rotation, cells), [])
    for (const text of cells.flatMap(sealedTexts)) {
      const { ctx } = JSON.parse(Buffer.from(text.split('.')[0]!, 'base64url').toString()) as { ctx: string }
      await unseal(onlyB.kek, ctx, text)
      await assert.rejects(unseal(onlyA.kek, ctx, text), { code: 'unknown_key' })
    }
    for (const cell of cells)
      if (cell.column.endsWith('_digest_version')) assert.equal(cell.bytes.toString(), '2', placeOf(cell))
  })
})

test('every column in which something sealed is found is one that the job knows', async (t) => {
  const rotation = await startRotation(t)
  const { kit } = rotation
  const known = await kit.db.acrossTenants(secretColumns)
  const nameOf = (of: (typeof known)[number]) => `${of.table}.${of.column}`
  const found = [...(await sealedIn(kit)).keys()]
  assert.ok(found.length >= 7 - sealedByToken.length, found.join())
  assert.deepEqual(
    found.filter((place) => !known.some((of) => of.kind === 'sealed' && nameOf(of) === place)),
    [],
  )
  // These have no value under another name. Each name below was tried, or its values last for minutes only.
  assert.deepEqual(
    known
      .filter((of) => of.kind === 'sealed' && !found.includes(nameOf(of)))
      .map(nameOf)
      .sort(),
    ['device_grants.secret_jwe', 'sign_in_requests.verifier_jwe', ...sealedByToken],
  )
  const digests = known.filter((of) => of.kind === 'digest').map(nameOf)
  const places = placesOfDigests(rotation, await cellsOf(kit))
  assert.deepEqual(digests, [...places, 'recovery_codes.code_digest'])
})

/** The places with digests of these credentials, as they were when the credentials were created. */
function placesOfDigests({ kit, secret, token, cookie }: Rotation, cells: readonly Cell[]): string[] {
  const digests = [kit.adminKey, secret, token, cookie.split('=')[1]!].map((t) => readToken(kit.peppers, t)!.digest)
  return [...new Set(cells.filter(({ bytes }) => digests.some((d) => bytes.includes(d))).map(placeOf))].sort()
}
