import assert from 'node:assert/strict'
import { test } from 'node:test'
import { auditHash, canonicalJson, generateKey, noHash, softwareSigner } from '@holdfast/crypto'
import { anyText } from '@holdfast/crypto/test/any-text'
import fc from 'fast-check'
import {
  changed,
  checkpointOf,
  eventNamed,
  lineOf,
  makeRecord,
  manifestOf,
  once,
  type Row,
  refused,
  rehash,
  tenantId,
  textOf as text,
  trusted,
  trustSet,
  verify,
} from '../../test/support/audit-export.ts'
import { trustedBy } from './keys.ts'
import { linesOf } from './lines.ts'
import { verifyExport } from './verify-export.ts'

const stranger = softwareSigner('audit-checkpoint', generateKey('Ed25519').privateJwk)

const rows = makeRecord(20)
const manifest = await manifestOf(rows)
const withRow = (n: number, row: (row: Row) => Row) => rows.map((r) => (r.seq === n ? row(r) : r))

test('an unchanged export verifies', async () => {
  assert.deepEqual(await verify(text(rows) + manifest), {
    tenant_id: tenantId,
    events: 20,
    first_seq: 1,
    last_seq: 20,
    last_hash: rows[19]!.hash.toString('hex'),
    is_filtered: false,
    manifest_is_signed: true,
    checkpoint: null,
    checkpoints: 0,
    checkpoints_of_other_keys: 0,
  })
  assert.equal((await verify(await manifestOf([]))).events, 0)
})

test('a manifest can be signed by a key that was published after the export began', async () => {
  const witness = { checkpoints: once<never>(), reached: [] }
  const before = trustedBy({ ...trustSet, jwks: { keys: [] } })
  const lines = () => linesOf(once(Buffer.from(text(rows) + manifest)))
  const { verdict } = await verifyExport(lines(), { trusted: before, trustedNow: async () => trusted, witness })
  assert.equal(verdict.manifest_is_signed, true)
  await assert.rejects(verifyExport(lines(), { trusted: before, witness }), refused(1, /no signature of a trusted key/))
})

test('the first event that was changed, removed, inserted or moved is named', async () => {
  for (const n of [1, 2, 10, 19, 20]) {
    const without = rows.filter((row) => row.seq !== n)
    const put: Row = {
      ...changed(rows[n - 1]!),
      hash: auditHash(rows[n - 2]?.hash ?? noHash, n, changed(rows[n - 1]!).record),
    }
    const further = (row: Row): Row => ({ ...row, seq: row.seq + 1 })
    const attacks: Record<string, Row[]> = {
      changed: withRow(n, changed),
      'its hash alone': withRow(n, (row) => ({ ...row, hash: Buffer.alloc(32, 1) })),
      removed: without,
      'removed, and the others moved up': without.map((row, i) => ({ ...row, seq: i + 1 })),
      'put in at its place': [...rows.slice(0, n - 1), put, ...rows.slice(n - 1)],
      'put in, and the others moved down': [...rows.slice(0, n - 1), put, ...rows.slice(n - 1).map(further)],
      ...(n < 20 && {
        swapped: [...rows.slice(0, n - 1), rows[n]!, rows[n - 1]!, ...rows.slice(n + 1)],
        'swapped with their places': rows.map((row) =>
          row.seq === n ? { ...rows[n]!, seq: n } : row.seq === n + 1 ? { ...rows[n - 1]!, seq: n + 1 } : row,
        ),
      }),
    }
    for (const [what, attack] of Object.entries(attacks))
      await assert.rejects(verify(text(attack) + manifest), refused(n, /./), `${n} ${what}`)
  }
})

test('any change of one line is found', async () => {
  const few = rows.slice(0, 4)
  const [lines, manifest] = [few.map(lineOf), await manifestOf(few)]
  await fc.assert(
    fc.asyncProperty(fc.nat(3), fc.nat(300), anyText({ maxLength: 3 }), async (n, at, put) => {
      const line = lines[n]!
      const other = line.slice(0, at) + put + line.slice(at + 1)
      if (other === line) return
      const bad = await verify([...lines.slice(0, n), other, ...lines.slice(n + 1), manifest].join('')).then(
        () => undefined,
        (e: { seq: number; name: string }) => e,
      )
      assert.equal(bad?.name, 'BadRecord')
    }),
    { numRuns: 40 },
  )
})

test('an event with a recomputed hash is located between two kept checkpoints', async () => {
  const kept = [await checkpointOf(rows.slice(0, 4)), await checkpointOf(rows.slice(0, 15))]
  for (const n of [5, 6, 10, 14]) {
    const attack = rehash(withRow(n, changed), n, n)
    const where = { ...refused(5, /differs from the signed event/), latest: n + 1 }
    await assert.rejects(verify(text(attack) + manifest, { kept }), where, String(n))
    await assert.rejects(verify(text(withRow(n, changed)) + manifest, { kept }), refused(n, /the event was altered/))
  }
  const all = rehash(withRow(7, changed), 7)
  await assert.rejects(
    verify(text(all) + (await manifestOf(all)), { kept }),
    refused(5, /from here to sequence number 15/),
  )
  assert.equal((await verify(text(all) + (await manifestOf(all)))).events, 20, 'nothing else tells')
})

test('a log that was cut or rewritten does not match a kept checkpoint', async () => {
  const kept = [await checkpointOf(rows.slice(0, 15))]
  const cut = rows.slice(0, 12)
  await assert.rejects(verify(text(cut) + (await manifestOf(cut)), { kept }), refused(13, /15 events were signed/))
  const anew = makeRecord(20, (n) => eventNamed(n, { kind: 'user.created' }))
  await assert.rejects(
    verify(text(anew) + (await manifestOf(anew)), { kept }),
    refused(1, /from here to sequence number 15/),
  )
  assert.equal((await verify(text(rows) + manifest, { kept })).checkpoint, 15)
  const first = text(rows.slice(0, 15))
  assert.equal((await verify(first, { kept, isTrusted: false })).checkpoint, 15, 'without any key')
  await assert.rejects(verify(text(rows), { kept, isTrusted: false }), refused(16, /nothing proves/), 'behind it')
})

test('a file without its end, its manifest or a trusted signature is refused', async () => {
  await assert.rejects(verify(text(rows)), refused(21, /without a signed manifest/))
  await assert.rejects(verify(text(rows.slice(0, 19)) + manifest), refused(20, /it is missing/))
  await assert.rejects(verify(text(rows).slice(0, -9)), refused(20, /not JSON/))
  await assert.rejects(verify(''), refused(1, /without a signed manifest/))
  await assert.rejects(verify(text(rows) + manifest + lineOf(rows[0]!)), refused(21, /follows the manifest/))
  await assert.rejects(
    verify(text(rows) + (await manifestOf(rows, {}, stranger))),
    refused(1, /no signature of a trusted key/),
  )
  await assert.rejects(
    verify(text(rows) + manifest.replace('"events":20', '"events":19')),
    refused(1, /differs from the signed/),
  )
  const other = { tenant_id: 'tnt_01h455vb4pex5vsknk084sn02r' }
  await assert.rejects(verify(text(rows) + (await manifestOf(rows, other))), refused(1, /another tenant/))
  const mixed = makeRecord(20, (n) => eventNamed(n, n === 8 ? other : {}))
  await assert.rejects(verify(text(mixed) + (await manifestOf(mixed))), refused(8, /another tenant/))
  const spaced = text(rows).replace('{"actor"', '{ "actor"')
  await assert.rejects(verify(spaced + manifest), refused(1, /differs from the export/))
})

test('an export from a later event continues from the hash that its manifest names', async () => {
  const late = rows.slice(10)
  const before = { hash_before_first: rows[9]!.hash.toString('hex') }
  assert.equal((await verify(text(late) + (await manifestOf(late, before)))).first_seq, 11)
  const attack = [changed(late[0]!), ...late.slice(1)]
  await assert.rejects(verify(text(attack) + (await manifestOf(late, before))), refused(11, /hash is wrong/))
  assert.equal((await verify(text(late) + (await manifestOf(late)))).first_seq, 11, 'the hash before is gone')
  await assert.rejects(verify(text(attack) + (await manifestOf(late))), refused(11, /differs from the export/))
})

test('a filtered export may omit events, if a signed manifest says so', async () => {
  const some = rows.filter(({ seq }) => [2, 3, 7, 8, 9, 20].includes(seq))
  const filter = { filter: { kind: 'api_key.used' }, head: { seq: 20, hash: rows[19]!.hash.toString('hex') } }
  const whole = await manifestOf(some, filter)
  const { is_filtered, events } = await verify(text(some) + whole)
  assert.deepEqual([is_filtered, events], [true, 6])
  await assert.rejects(verify(text(some) + (await manifestOf(some))), refused(4, /missing/))
  await assert.rejects(verify(text(some)), refused(4, /missing/))
  const without = (seq: number) => some.filter((row) => row.seq !== seq)
  await assert.rejects(verify(text(without(2)) + whole), refused(2, /missing/))
  await assert.rejects(verify(text(without(20)) + whole), refused(20, /missing/))
  await assert.rejects(verify(text(without(7)) + whole), refused(2, /6 events were exported, and the file has 5/))
  const attack = (n: number) => some.map((row) => (row.seq === n ? changed(row) : row))
  await assert.rejects(verify(text(attack(9)) + whole), refused(9, /hash is wrong/))
  await assert.rejects(verify(text(attack(20)) + whole), refused(2, /differs from the export/))
})

test('a malformed line is refused with its fault', async () => {
  const [first, ...others] = rows.map(lineOf)
  const second = (line: string) => verify([first, line, ...others.slice(1), manifest].join(''))
  const hostile: [string, RegExp][] = [
    ['\n', /empty/],
    ['{"seq":2\n', /not JSON/],
    ['[]\n', /not a JSON object/],
    ['\u0000\n', /not JSON/],
    [others[0]!.replace('\n', '\r\n'), /ends with CR/],
    [others[0]!.replace('{', '{"kind":"x",'), /duplicate members/],
    [others[0]!.replace('"kind"', '"n":9007199254740993,"kind"'), /9007199254740993 is not in canonical form/],
    [others[0]!.replace('"kind"', '"n":1e-400,"kind"'), /1e-400 is not in canonical form/],
    [others[0]!.replace('Zo', '\\ud800'), /./],
    [others[0]!.replace('"seq":2', '"seq":2.5'), /no sequence number/],
    [others[0]!.replace('"hash":"', '"hash":"A'), /no hash/],
    [`{"a":${'['.repeat(1000)}${']'.repeat(1000)}}\n`, /nested too deeply/],
    ['{"seq":2,"hash":null}\n', /no hash/],
  ]
  for (const [line, why] of hostile) await assert.rejects(second(line), refused(2, why), line.slice(0, 60))
  const exact = makeRecord(2, (n) => eventNamed(n, { n: 1e21, m: 0.1, text: ':12345678901234567890' }))
  assert.equal((await verify(text(exact) + (await manifestOf(exact)))).events, 2)
  assert.equal(canonicalJson({ n: 1e21 }), '{"n":1e+21}')
})

test('an endless line is refused without being held in memory', async () => {
  async function* endless() {
    yield Buffer.from(text(rows.slice(0, 3)))
    for (;;) yield Buffer.alloc(1024 * 1024, 0x61)
  }
  const witness = { checkpoints: once<never>(), reached: [] }
  await assert.rejects(verifyExport(linesOf(endless()), { trusted, witness }), refused(4, /16 MiB/))
})
