import assert from 'node:assert/strict'
import { test } from 'node:test'
import { canonicalJson } from '@holdfast/crypto'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { anyLines, eventOf, hostileEvent, texts } from '../../../../test/support/domain/hostile-events.ts'
import { csv, csvHeader } from './csv.ts'
import { readEvent } from './event.ts'
import { json } from './json.ts'

/** Characters that are invisible, or hide the text after them. */
const hidden =
  /[\p{Cc}\u00ad\u115f\u1160\u180e\u202e\u2800\u3164\ufeff\uffa0]|\u034f|[\ufe00-\ufe0f]|[\u{e0000}-\u{e007f}]/u

test('JSON: one event is one line, and without seq and hash the record that was hashed', () => {
  fc.assert(
    fc.property(texts, (given) => {
      const stored = hostileEvent(given)
      const line = json(stored)
      assert.equal(anyLines(line).length, 1)
      assert.doesNotMatch(line, hidden)
      const { seq, hash, ...record } = JSON.parse(line) as Record<string, unknown>
      assert.deepEqual([seq, hash], [stored.seq, stored.hash])
      assert.equal(canonicalJson(record), stored.record)
    }),
    { numRuns: 200 },
  )
})

const rows = (text: string) =>
  parse<Record<string, string>>(text, { columns: true, record_delimiter: '\r\n', relax_quotes: false })
/**
 * As strict as a spreadsheet and stricter: blanks, quotes and invisible characters hide no formula; `'` makes it text.
 */
const isFormula = (cell: string) => /^[\s"\p{Cc}\p{Cf}\ufffd]*[=+\-@＝＋－＠]/u.test(cell)

test('CSV: one event is one row of as many cells, and its last one the record that was hashed', () => {
  fc.assert(
    fc.property(texts, (given) => {
      const stored = hostileEvent(given)
      const text = csvHeader + csv(stored)
      assert.equal(anyLines(text).length, 3)
      const [row, ...others] = rows(text)
      assert.deepEqual(others, [])
      assert.equal(canonicalJson(JSON.parse(row!.record!)), stored.record)
      assert.deepEqual([row!.seq, row!.hash], [String(stored.seq), stored.hash])
    }),
    { numRuns: 200 },
  )
})

test('CSV: no cell is a formula, whatever separates cells where it is read', () => {
  fc.assert(
    fc.property(texts, (given) => {
      const text = csvHeader + csv(hostileEvent(given))
      for (const cell of rows(text).flatMap((row) => Object.values(row))) assert.equal(isFormula(cell), false, cell)
      for (const delimiter of [';', '\t'])
        for (const cell of text.split(new RegExp(`[${delimiter}]|\r\n`))) assert.equal(isFormula(cell), false, cell)
    }),
    { numRuns: 200 },
  )
})

test('CSV: what filters name has a column', () => {
  const cells = (...given: Parameters<typeof eventOf>) => {
    const [row] = rows(csvHeader + csv(eventOf(...given)))
    const { operation, username, reason, endpoint, key_id } = row!
    return { operation, username, reason, endpoint, key_id }
  }
  const none = { operation: '', username: '', reason: '', endpoint: '', key_id: '' }
  assert.deepEqual(cells('login.failed', { username: 'ana', failure_reason: 'oidc:no_cookie' }), {
    ...none,
    username: 'ana',
    reason: 'oidc:no_cookie',
  })
  const refused = { operation: 'listUsers', endpoint: 'GET /v1/admin/users', reason: 'forbidden' }
  assert.deepEqual(cells('request.refused', refused), { ...none, ...refused })
  const used = { key_id: 'key_1', endpoint: 'GET /v1/admin/users' }
  assert.deepEqual(cells('api_key.used', used), { ...none, ...used })
  const header = csvHeader.split('","')
  assert.deepEqual([header[0], header.at(-1)], ['"seq', 'record"\r\n'], 'the record is the last column, as before')
})

test('CSV: what is no formula is shown as it is', () => {
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) "Gecko", 日本語 👩‍💻'
  const stored = eventOf('user.mfa_enabled', { user_id: 'usr_1' }, { userAgent: agent, name: "O'Brien-Smith" })
  const [row] = rows(csvHeader + csv(stored))
  assert.deepEqual([row!.user_agent, row!.actor_name], [agent, "O'Brien-Smith"])
  assert.equal(row!.target_id, '')
  assert.equal(row!.timestamp, readEvent(stored).timestamp)
})

test('what can not be seen is escaped in JSON, and shown as what it is in the columns', () => {
  const unseen = [
    '\u00ad',
    '\u034f',
    '\u115f',
    '\u1160',
    '\u180e',
    '\u2800',
    '\u3164',
    '\uffa0',
    '\u{e0001}',
    '\u{e0041}',
  ]
  const name = unseen.join('a')
  const stored = eventOf('user.mfa_enabled', { user_id: 'usr_1' }, { name: `${name}\u{1f469}\ufe0f`, userAgent: name })
  assert.doesNotMatch(json(stored), hidden)
  assert.deepEqual((JSON.parse(json(stored)) as { user_agent: string }).user_agent, name)
  const [row] = rows(csvHeader + csv(stored))
  assert.equal(row!.user_agent, unseen.map(() => '\ufffd').join('a'))
  assert.ok(row!.actor_name!.endsWith('\u{1f469}\ufe0f'), 'what an emoji is made of is shown')
  assert.equal(canonicalJson(JSON.parse(row!.record!)), stored.record)
})

test('CSV: what a cell of Excel can not hold begins no formula in the next one', () => {
  const long = Object.fromEntries(
    ['=1+1', '+x', '-x', '@x', '＝1', '\\"=1', '"-1'].map((text) => [text, text.repeat(2000)]),
  )
  const stored = eventOf(
    'user.changed',
    { operation: 'update', user_id: 'u' },
    {},
    { details: { long, n: -1, e: 1e-7 } },
  )
  const [row] = rows(csvHeader + csv(stored))
  assert.ok(row!.record!.length > 32_767)
  for (const sign of row!.record!.matchAll(/[=+\-@＝]/g))
    assert.match(row!.record!.slice(sign.index - 2, sign.index + 2), /[:e]-\d/, 'a number alone')
  assert.equal(canonicalJson(JSON.parse(row!.record!)), stored.record)
})
