import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anyText } from '@holdfast/crypto/test/any-text'
import fc from 'fast-check'
import { canonicalEmail } from './email.ts'
import { canonicalUsername } from './username.ts'

test('the examples of RFC 8265, tables 1 and 2, are accepted and refused', () => {
  const valid: [given: string, canonical: string][] = [
    ['juliet@example.com', 'juliet@example.com'],
    ['fussball', 'fussball'],
    ['fu\u00dfball', 'fu\u00dfball'],
    ['\u03c0', '\u03c0'],
    ['\u03a3', '\u03c3'],
    ['\u03c3', '\u03c3'],
    ['\u03c2', '\u03c2'],
  ]
  for (const [given, canonical] of valid) assert.deepEqual(canonicalUsername(given), { name: canonical })
  // In the RFC, a space separates two userparts; here a username is one.
  for (const given of ['foo bar', '', 'henry\u2163', '\u265a']) assert.ok(canonicalUsername(given).problem, given)
})

test('width, case and composition make no different name', () => {
  const same: string[][] = [
    ['zo\u00eb', 'zoe\u0308', 'ZO\u00cb', '\uff3a\uff2f\u00cb'],
    ['ana', 'ANA', '\uff21\uff4e\uff41'],
    ['\u30ab', '\uff76'],
    ['\u30ac', '\uff76\uff9e'],
  ]
  for (const spellings of same)
    assert.equal(new Set(spellings.map((s) => canonicalUsername(s).name)).size, 1, spellings.join())
})

test('invisible and confusable characters are refused', () => {
  const refused: Record<string, string> = {
    'zero width space': 'ad\u200bmin',
    'zero width joiner': 'ad\u200dmin',
    'right-to-left override': '\u202enimda',
    'word joiner': 'admin\u2060',
    'soft hyphen': 'ad\u00admin',
    'byte order mark': '\ufeffadmin',
    'combining grapheme joiner': 'ad\u034fmin',
    'variation selector': 'admin\ufe0f',
    tag: 'admin\u{e0061}',
    control: 'admin\u0007',
    'private use': 'admin\ue000',
    unassigned: 'admin\u{e0fff}',
    'half a pair': 'admin\ud800',
    ligature: '\ufb01sh',
    superscript: 'admin\u00b2',
    'mathematical letters': '\u{1d41a}dmin',
    'roman numeral': 'henry\u2163',
    emoji: 'admin\u{1f600}',
    'no-break space': 'ad\u00a0min',
    'old hangul': '\u1100',
    'Cyrillic a in Latin': '\u0430dmin',
    'Greek omicron in Latin': 'r\u03bfot',
    'Armenian in Latin': 'r\u0585ot',
    'middle dot outside of l\u00b7l': 'a\u00b7b',
    'two kinds of Arabic digits': '\u0627\u0661\u06f1',
    'Hebrew with a Latin end': '\u05d0\u05d1a',
    tatweel: '\u0627\u0640\u0627',
  }
  for (const [what, name] of Object.entries(refused)) assert.ok(canonicalUsername(name).problem, what)
})

test('names can be written in their own script', () => {
  const names = [
    'м\u0438\u0445\u0430\u0438\u043b',
    '\u5c71\u7530',
    '\u5c71\u7530\u30bf\u30ed\u30a6-x',
    '\u05d3\u05d5\u05d3',
    '\u0645\u062d\u0645\u062f1',
    'ze\u0301',
    'al\u00b7lot',
    '\ud64d\uae38\ub3d9',
  ]
  for (const name of names) assert.ok(canonicalUsername(name).name, name)
})

test('the canonical form of a canonical name is itself', () => {
  fc.assert(
    fc.property(anyText({ minLength: 1, maxLength: 12 }), (text) => {
      const { name } = canonicalUsername(text)
      if (name !== undefined) assert.deepEqual(canonicalUsername(name), { name })
    }),
    { numRuns: 2000 },
  )
})

test('a mail address has one canonical form and no invisible characters', () => {
  assert.equal(canonicalEmail('Ana@Example.ORG'), 'Ana@example.org')
  assert.equal(canonicalEmail('zoe\u0308@example.org'), 'zo\u00eb@example.org')
  for (const text of ['a\u200bna@example.org', 'ana@exam\u00adple.org', '\u202eana@example.org'])
    assert.equal(canonicalEmail(text), undefined)
})
