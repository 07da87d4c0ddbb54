import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consistencySpans, generateKey, isConsistent, leafHash, rootOver, softwareSigner } from '@holdfast/crypto'
import fc from 'fast-check'
import {
  changed,
  checkpointOf,
  eventNamed,
  makeRecord,
  manifestOf,
  once,
  type Row,
  refused,
  rehash,
  textOf,
  trusted,
  verify,
} from '../../test/support/audit-export.ts'
import { bringCheckpoint, type Known } from './keys.ts'
import { verifyServer } from './verify-server.ts'

const rows = makeRecord(20)
const manifest = await manifestOf(rows)
const stranger = softwareSigner('audit-checkpoint', generateKey('Ed25519').privateJwk)
const withRows = (change: (row: Row) => Row, ...places: number[]) =>
  rows.map((row) => (places.includes(row.seq) ? change(row) : row))
const noVerdict = (message: RegExp) => ({ name: 'NoVerdict', message })
/** A server with the log as it was signed. */
const follows = async (from: { size: number; root: Buffer }, to: Known) => {
  const leaves = rows.map(({ hash }) => leafHash(hash))
  const path = from.size === to.size ? [] : consistencySpans(from.size, to.size)
  return isConsistent(
    from,
    to,
    path.map(([start, end]) => rootOver(leaves.slice(start, end))),
  )
}

test('with keys that are trusted a file without its manifest is none, whatever it is compared with', async () => {
  for (const kept of [[], [await checkpointOf(rows.slice(0, 15))], [await checkpointOf(rows)]])
    await assert.rejects(verify(textOf(rows), { kept }), refused(21, /without a manifest/))
})

test('a checkpoint of a server by an unknown key may contradict, and never vouches', async () => {
  const listed = [await checkpointOf(rows, stranger)]
  const said = await verify(textOf(rows) + manifest, { listed })
  assert.deepEqual([said.checkpoint, said.checkpoints, said.checkpoints_of_other_keys], [null, 1, 1])
  await assert.rejects(verify(textOf(rows), { listed, isTrusted: false }), refused(1, /nobody vouches/))
  const other = makeRecord(20, (n) => eventNamed(n, { kind: 'user.created' }))
  await assert.rejects(verify(textOf(other) + (await manifestOf(other)), { listed }), refused(1, /not the one/))
  // A checkpoint that matches the rewritten events does not confirm the log up to it.
  const anew = rehash(withRows(changed, 5), 5)
  const theirs = [await checkpointOf(anew.slice(0, 14), stranger), await checkpointOf(rows.slice(0, 15))]
  await assert.rejects(verify(textOf(anew) + (await manifestOf(anew)), { listed: theirs }), refused(1, /to place 15/))
})

test('what a server sends for its whole record is neither a part of it nor an older one', async () => {
  const asked = new Date('2030-01-01T00:04:00.000Z')
  assert.equal((await verify(textOf(rows) + manifest, { asked })).events, 20, 'a clock is four minutes off')
  const cut = rows.slice(0, 12)
  for (const filter of [{ to: '2029-12-31T00:00:00.000Z' }, { kind: 'api_key.used' }]) {
    const signed = await manifestOf(cut, { filter, head: { seq: 20, hash: rows[19]!.hash.toString('hex') } })
    await assert.rejects(verify(textOf(cut) + signed, { asked }), refused(13, /by a filter/))
  }
  const some = rows.filter(({ seq }) => seq !== 7)
  const left = await manifestOf(some, { filter: { kind: 'api_key.used' } })
  await assert.rejects(verify(textOf(some) + left, { asked }), refused(7, /it is missing/))
  const old = textOf(cut) + (await manifestOf(cut))
  await assert.rejects(verify(old, { asked: new Date('2030-01-01T00:06:00.000Z') }), refused(13, /before it was asked/))
  await assert.rejects(
    verify(textOf(cut) + (await manifestOf(cut, { started_at: 'soon' })), { asked }),
    refused(13, /before it was asked/),
  )
})

test('a server is not believed that an old export, or one of a part, is its whole record', async () => {
  const cut = rows.slice(0, 12)
  const answer = async (last: string, kept?: string, listed: readonly string[] = []) => {
    const items = listed.map((note) => ({ note }))
    const client = {
      listAuditCheckpoints: async () => ({ items, next_cursor: null }),
      exportAudit: async () => once(Buffer.from(textOf(cut) + last)),
    } as unknown as Parameters<typeof verifyServer>[0]['client']
    const brought = kept === undefined ? undefined : bringCheckpoint(kept, trusted)
    const given = { client, scope: {}, trusted, trustedNow: async () => trusted, kept: brought, progress: () => {} }
    return (await verifyServer(given)).verdict
  }
  const started_at = new Date().toISOString()
  const whole = await manifestOf(cut, { started_at })
  assert.equal((await answer(whole)).last_seq, 12)
  const old = { started_at: new Date(Date.now() - 600_000).toISOString() }
  await assert.rejects(answer(await manifestOf(cut, old)), refused(13, /before it was asked/))
  const part = await manifestOf(cut, { started_at, filter: { to: '2030-01-01T00:00:00.000Z' } })
  await assert.rejects(answer(part), refused(13, /by a filter/))
  const longer = await checkpointOf(rows.slice(0, 15))
  for (const last of [whole, part]) {
    await assert.rejects(answer(last, longer), refused(13, /./))
    await assert.rejects(answer(last, undefined, [longer]), refused(13, /./))
  }
  await assert.rejects(answer(''), refused(13, /without a manifest/))
})

test('what was brought along is compared, or there is no verdict', async () => {
  const kept = [await checkpointOf(rows.slice(0, 15))]
  const late = rows.slice(10)
  const begins = textOf(late) + (await manifestOf(late, { hash_before_first: rows[9]!.hash.toString('hex') }))
  await assert.rejects(verify(begins, { kept }), noVerdict(/of 15 places .* begins at place 11/))
  const some = rows.filter(({ seq }) => seq % 3 === 0)
  const filtered = textOf(some) + (await manifestOf(some, { filter: { kind: 'api_key.used' } }))
  await assert.rejects(verify(filtered, { kept }), noVerdict(/left out by a filter/))
  await assert.rejects(verify(textOf(late), { kept, isTrusted: false }), noVerdict(/begins at place 11/))
  const attack = textOf(late.map((row) => (row.seq === 13 ? changed(row) : row)))
  await assert.rejects(verify(attack + (await manifestOf(late)), { kept }), refused(13, /does not fit/), 'bad is bad')
  const older = rows.slice(0, 12)
  await assert.rejects(
    verify(textOf(older) + (await manifestOf(older)), { kept }),
    refused(13, /15 places were signed/),
  )
})

test('a record whose hashes were all computed anew is not the one whose checkpoint its manifest carries', async () => {
  const checkpoint = await checkpointOf(rows.slice(0, 17))
  const said = await verify(textOf(rows) + (await manifestOf(rows, { checkpoint })))
  assert.deepEqual([said.checkpoint, said.checkpoints], [17, 1])
  const anew = rehash(withRows(changed, 7), 7)
  const signed = await manifestOf(anew, { checkpoint })
  await assert.rejects(verify(textOf(anew) + signed), { ...refused(1, /from here to place 17/), latest: 17 })
  const kept = [await checkpointOf(rows.slice(0, 4))]
  await assert.rejects(verify(textOf(anew) + signed, { kept }), refused(5, /from here to place 17/))
  const one = withRows(changed, 7)
  await assert.rejects(verify(textOf(one) + signed), refused(7, /not what was recorded/))
  const cut = rows.slice(0, 12)
  await assert.rejects(
    verify(textOf(cut) + (await manifestOf(cut, { checkpoint }))),
    refused(13, /17 places were signed/),
  )
  const forged = await manifestOf(rows, { checkpoint: checkpoint.replace('\n17\n', '\n16\n') })
  await assert.rejects(verify(textOf(rows) + forged), refused(16, /forged/))
  const strange = await verify(
    textOf(rows) + (await manifestOf(rows, { checkpoint: await checkpointOf(rows, stranger) })),
  )
  assert.equal(strange.checkpoint, null)
})

test('of several places that are wrong the first is named, or a place before it', async () => {
  const kept = [await checkpointOf(rows.slice(0, 4)), await checkpointOf(rows.slice(0, 15))]
  const without = (some: readonly Row[], n: number) => some.filter(({ seq }) => seq !== n)
  const attacks: [Row[], number][] = [
    [without(withRows(changed, 6), 10), 6],
    [without(withRows(changed, 6), 10).map((row) => (row.seq === 12 ? rows[4]! : row)), 5],
    [rehash(withRows(changed, 6, 7, 8), 6, 8), 5],
    [withRows(changed, 10).map((row) => (row.seq === 6 ? rehash(withRows(changed, 6), 6, 6)[5]! : row)), 5],
    [rehash(withRows(changed, 2, 9), 9, 9), 2],
    [[...withRows(changed, 17).slice(0, 18), rows[2]!], 3],
  ]
  for (const [attack, first] of attacks)
    await assert.rejects(verify(textOf(attack) + manifest, { kept }), refused(first, /./), `${first}`)
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.integer({ min: 1, max: 15 }), { minLength: 1, maxLength: 3 }),
      async (places) => {
        const wrong = places.toSorted((a, b) => a - b)
        // Each has another event, most with a hash that matches the event before.
        let attack = [...rows]
        for (const n of wrong) attack = attack.map((row) => (row.seq === n ? changed(row) : row))
        for (const n of wrong) if (n % 3 > 0) attack = rehash(attack, n, n)
        const bad = await verify(textOf(attack) + manifest, { kept }).then(
          () => undefined,
          (e: { name: string; seq: number; latest: number }) => e,
        )
        assert.equal(bad?.name, 'BadRecord')
        assert.ok(bad.seq <= wrong[0]! && wrong[0]! <= bad.latest, `${bad.seq} to ${bad.latest}, ${wrong}`)
      },
    ),
    { numRuns: 100 },
  )
})

test('a server that proves what it signed tells how far it goes', async () => {
  const known = bringCheckpoint(await checkpointOf(rows.slice(0, 15)), undefined)
  const attack = textOf(rehash(withRows(changed, 9), 9, 12)) + manifest
  let asked = 0
  const counted = (...given: Parameters<typeof follows>) => {
    asked++
    return follows(...given)
  }
  const witness = { checkpoints: once(known), reached: [known], follows: counted }
  await assert.rejects(verify(attack, { witness }), { ...refused(9, /not the one that was signed/), latest: 13 })
  assert.ok(asked <= 5, String(asked))
  const silent = { checkpoints: once(known), reached: [], follows: () => Promise.reject(new Error('away')) }
  await assert.rejects(verify(attack, { witness: silent }), refused(1, /from here to place 13/))
})
