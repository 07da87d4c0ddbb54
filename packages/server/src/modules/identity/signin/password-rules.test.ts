import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { passwordProblem } from './password-rules.ts'

const words = ['ana', 'ana.meier', 'acme corp', 'holdfast']
const check = (password: string, more: { minLength?: number; mfa?: boolean } = {}) =>
  passwordProblem(password, { minLength: 15, mfa: false, words, ...more })

test('length counts characters, not bytes, and less is enough with a second factor', async () => {
  assert.match(String(await check('kfu7-fhw2-mnqp')), /at least 15/)
  assert.equal(await check('kfu7-fhw2-mnqpx'), undefined)
  assert.equal(await check('🦀🐢🦉🐝🦋🐌🐞🦂🐙🦑🦐🐠🐡🐬🐳'), undefined)
  assert.match(String(await check('🦀🐢🦉🐝🦋🐌🐞🦂🐙🦑🦐🐠🐡🐬')), /at least 15/)
  assert.equal(await check('kfu7-fhw', { mfa: true }), undefined)
  assert.match(String(await check('kfu7-fh', { mfa: true })), /at least 8/)
  const long = Array.from({ length: 43 }, (_, i) => String(i).padStart(3, '0')).join('')
  assert.equal(await check(long.slice(0, 128)), undefined)
  assert.match(String(await check(long)), /at most 128/)
})

test('composed and decomposed spellings are one password', async () => {
  assert.match(String(await check(`${'e\u0301'.repeat(7)}abcdefg`, { minLength: 15 })), /at least 15/)
})

test('what attackers try first is refused whatever its case', async () => {
  for (const password of ['passwordpassword', 'PasswordPassword', '1qaz2wsx3edc4rfv', 'QWERTYUIOP12345'])
    assert.match(String(await check(password)), /attackers try first/, password)
  assert.match(String(await check('baseball', { mfa: true })), /attackers try first/)
})

test('repetition does not make a password long', async () => {
  for (const password of ['aaaaaaaaaaaaaaaa', 'abcabcabcabcabc', 'footballfootball', 'Dragon12Dragon12'.repeat(2)])
    assert.notEqual(await check(password), undefined, password)
})

test('names of the context are no password, alone or padded, but may be a part of one', async () => {
  for (const password of ['Holdfast-Holdfast', 'ana.meier2026!!', 'Acme Corp 123456', 'holdfastacme corp'])
    assert.match(String(await check(password)), /names? of the account/, password)
  for (const password of ['my holdfast is a grumpy old crab', 'banana split on tuesday'])
    assert.equal(await check(password), undefined, password)
})

test('nothing is asked of the kinds of characters', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom('a', '7', '-', 'é'), fc.nat(1_000_000), async (kind, seed) => {
      // Sixteen characters of one kind, without a pattern.
      const base = { a: 97, '7': 48, '-': 33, é: 0xe0 }[kind] ?? 97
      const span = kind === '7' ? 10 : kind === '-' ? 14 : 20
      let x = seed + 7
      const text = Array.from({ length: 17 }, () => {
        x = (x * 1_103_515_245 + 12_345) % 2_147_483_648
        return String.fromCodePoint(base + (Math.floor(x / 65_536) % span))
      }).join('')
      return (await check(text)) === undefined
    }),
  )
})
