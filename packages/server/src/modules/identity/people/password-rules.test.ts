import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { isGuessable } from './password-guesses.ts'
import { passwordProblem } from './password-rules.ts'

const words = ['ana', 'ana.meier', 'acme corp', 'holdfast']
const check = (password: string, more: { minLength?: number; mfa?: boolean } = {}) =>
  passwordProblem(password, { minLength: 15, mfa: false, words, ...more })

test('the length counts characters, not bytes, and a second factor lowers the minimum', async () => {
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

test('common passwords are refused in any case', async () => {
  for (const password of ['passwordpassword', 'PasswordPassword', '1qaz2wsx3edc4rfv', 'QWERTYUIOP12345'])
    assert.match(String(await check(password)), /common password/, password)
  assert.match(String(await check('baseball', { mfa: true })), /common password/)
})

test('a common password is refused with digits and signs added, respelled, shortened or repeated', async () => {
  const padded = [
    ...[
      'password1234567',
      'Password20242024',
      '!!baseball2019!!',
      '123456iloveyou!!',
      'P@ssw0rd12345678',
      'p4$$w0rd_20262026',
    ],
    ...[
      'dragon839201746',
      'sunsh1ne00000000',
      'letmein123456789',
      'monkey!!!!!!!!!!!',
      '99999999starwars',
      'princess#1998#1998',
    ],
    ...['password-password', 'football football', 'trustno1-trustno1', 'basebal12345678', 'iloveyo!!!!!!!!!'],
    ...['summer2026summer', 'Welcome2026Welcome2026', 'Winter2025!Winter', 'spring.2026.spring', 'password1password2'],
  ]
  const walked = [
    ...[
      'qwertyuiopasdfg',
      'qwertzuiopasdfg',
      'azertyuiopqsdfg',
      '123456789012345',
      '1qaz2wsx3edc4rf',
      'zaq12wsxcde34rfv',
    ],
    ...[
      'abcdefghijklmno',
      '987654321098765',
      '111111222222333',
      'asdfghjkl123456',
      'qwerty123456789',
      '!!qwertyuiop!!2024',
    ],
  ]
  for (const password of [...padded, ...walked])
    assert.match(String(await check(password)), /common password|repeats a short text/, password)
  for (const password of ['passw0rd', 'dragon12', 'Qwerty1!', 'love2024', 'monkey!!'])
    assert.match(String(await check(password, { mfa: true })), /common password/, password)
  const good = [
    'dragon eats seven plums',
    'blue-teapot-under-89',
    'wagon wagon tulip sand',
    '839201 dragon 5582713394',
    'kq7 monkey x fjord 12',
  ]
  for (const password of [...good, 'Wg8#kTz2!pQm4vXe', 'correct horse battery staple', 'seven crabs walk sideways'])
    assert.equal(await check(password), undefined, password)
})

test('keyboard walks are refused alone and padded, and 2,000 random hex texts are accepted', async () => {
  const digits = (_: unknown, i: number) => createHash('sha256').update(`seed 1, text ${i}`).digest('hex').slice(0, 16)
  const texts = ['05822e24abdffe14', '0ccbbdfee7165111', ...Array.from({ length: 2000 }, digits)]
  // Without the list of known passwords, which takes milliseconds for each text.
  const nothingKnown = { has: () => false, beginsOne: () => false }
  const refused = texts.filter((text) => isGuessable(text, nothingKnown))
  assert.deepEqual(refused, [])
  for (const walk of ['qawsedrftgyhujik', 'poiuztrewqlkjhgf', '77qawsedrf202677', '!!zxcvbnmas!!', '2026lkjhgfds2026'])
    assert.equal(isGuessable(walk, nothingKnown), true, walk)
  for (const text of texts.slice(0, 10)) assert.equal(await check(text), undefined, text)
})

test('repetition does not make a password long', async () => {
  for (const password of ['aaaaaaaaaaaaaaaa', 'abcabcabcabcabc', 'footballfootball', 'Dragon12Dragon12'.repeat(2)])
    assert.notEqual(await check(password), undefined, password)
})

test('names of the account are refused as password, alone or padded, but may be a part of one', async () => {
  for (const password of [
    'Holdfast-Holdfast',
    'ana.meier2026!!',
    'Acme Corp 123456',
    'holdfastacme corp',
    'holdfast12345678',
    'ana.meier20262026',
    'Acme Corp password',
  ])
    assert.match(String(await check(password)), /names? of the account/, password)
  for (const password of ['my holdfast is a grumpy old crab', 'banana split on tuesday'])
    assert.equal(await check(password), undefined, password)
})

test('any kinds of characters are accepted', async () => {
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
