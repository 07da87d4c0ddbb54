import assert from 'node:assert/strict'
import { argon2Sync } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import {
  createPasswordHasher,
  defaultPasswordParams,
  hashPassword,
  needsRehash,
  verifyDummy,
  verifyPassword,
} from './password.ts'
import { createSemaphore, QueueFullError } from './semaphore.ts'

const cheap = { m: 64, t: 1, p: 1 }

test('the platform computes argon2id of RFC 9106 section 5.3', () => {
  const tag = argon2Sync('argon2id', {
    message: Buffer.alloc(32, 1),
    nonce: Buffer.alloc(16, 2),
    secret: Buffer.alloc(8, 3),
    associatedData: Buffer.alloc(12, 4),
    parallelism: 4,
    tagLength: 32,
    memory: 32,
    passes: 3,
  })
  assert.equal(tag.toString('hex'), '0d640df58d78766c08c037a34a8b53c9d01ef0452d75b65eb52520e96b01e659')
})

test('PHC strings from the tests of the reference implementation verify', async () => {
  const vectors = [
    ['$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc', 'password'],
    ['$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4', 'password'],
    ['$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc', 'password'],
    ['$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$C4TWUs9rDEvq7w3+J4umqA32aWKB1+DSiRuBfYxFj94', 'differentpassword'],
  ] as const
  for (const [phc, password] of vectors) {
    assert.equal(await verifyPassword(phc, password), true, phc)
    // Expensive cases are computed once.
    if (!phc.includes('m=65536')) assert.equal(await verifyPassword(phc, `${password}x`), false)
  }
})

test('a hash verifies only its password, and no two hashes are equal', async () => {
  const phc = await hashPassword('correct horse battery staple')
  assert.match(phc, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
  assert.equal(await verifyPassword(phc, 'correct horse battery staple'), true)
  assert.equal(await verifyPassword(phc, 'correct horse battery stapl'), false)
  assert.notEqual(await hashPassword('same', cheap), await hashPassword('same', cheap))
})

test('composed and decomposed spellings are the same password', async () => {
  const phc = await hashPassword('pa\u00dfwort-\u00fc\u00e9', cheap)
  assert.equal(await verifyPassword(phc, 'pa\u00dfwort-u\u0308e\u0301'), true)
  assert.equal(await verifyPassword(phc, 'pa\u00dfwort-ue'), false)
})

test('all space characters are equal, also for hashes from before that rule', async () => {
  const spaced = (space: string) => ['correct', 'horse', 'battery', '42'].join(space)
  const spaces = [...'\u00a0\u1680\u2000\u2003\u2007\u2009\u202f\u205f\u3000 ']
  const phc = await hashPassword(spaced('\u00a0'), cheap)
  for (const space of spaces) assert.equal(await verifyPassword(phc, spaced(space)), true, JSON.stringify(space))
  assert.equal(await verifyPassword(phc, spaced('_')), false)
  assert.equal(await verifyPassword(phc, spaced('\t')), false)
  // Hashed before the mapping of spaces.
  const salt = Buffer.alloc(16, 7)
  const tag = argon2Sync('argon2id', {
    message: Buffer.from(spaced('\u00a0')),
    nonce: salt,
    parallelism: 1,
    tagLength: 32,
    memory: 64,
    passes: 1,
  })
  const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
  const old = `$argon2id$v=19$m=64,t=1,p=1$${base64(salt)}$${base64(tag)}`
  assert.equal(await verifyPassword(old, spaced('\u00a0')), true)
  assert.equal(await verifyPassword(old, spaced('\u2003')), false)
})

test('a hash with other than the current parameters needs a rehash', async () => {
  assert.equal(needsRehash(await hashPassword('x')), false)
  const old = await hashPassword('x', cheap)
  assert.equal(needsRehash(old), true)
  assert.equal(needsRehash(old, cheap), false)
  assert.equal(
    needsRehash('$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4', cheap),
    true,
  )
})

test('a stored text that is no argon2id hash, or has excessive parameters, is refused at once', async () => {
  const tail = '$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4'
  const texts = [
    '',
    'plain',
    `$argon2i$v=19$m=256,t=2,p=1${tail}`,
    `$argon2id$v=16$m=256,t=2,p=1${tail}`,
    `$argon2id$v=19$m=9999999,t=2,p=1${tail}`,
    `$argon2id$v=19$m=256,t=99,p=1${tail}`,
    `$argon2id$v=19$m=256,t=0,p=1${tail}`,
    `$argon2id$v=19$m=4,t=1,p=1${tail}`,
    `$argon2id$v=19$m=256,t=2,p=1${tail}\n`,
  ]
  for (const text of texts) await assert.rejects(verifyPassword(text, 'x'), { code: 'malformed' }, text)
})

test('verifying an unknown user costs as much CPU as a known one', async () => {
  const phc = await hashPassword('x')
  const cpuOf = async (work: () => Promise<unknown>) => {
    const from = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(from)
    return user + system
  }
  const known: number[] = []
  const unknown: number[] = []
  for (let i = 0; i < 5; i++) {
    known.push(await cpuOf(() => verifyPassword(phc, 'wrong')))
    unknown.push(await cpuOf(() => verifyDummy('wrong')))
  }
  assert.equal(await verifyDummy('x'), false)
  // The minimum of each is its cost without interference.
  const ratio = Math.min(...unknown) / Math.min(...known)
  assert.ok(ratio > 0.5 && ratio < 2, `ratio ${ratio}`)
})

test('a bounded hasher gives the same answers and refuses calls beyond its queue', async () => {
  const hasher = createPasswordHasher({ concurrency: 1, maxQueue: 1, params: cheap })
  const phc = await hasher.hashPassword('x')
  assert.equal(hasher.needsRehash(phc), false)
  const outcomes = await Promise.allSettled([
    hasher.verifyPassword(phc, 'x'),
    hasher.verifyDummy('x'),
    hasher.verifyPassword(phc, 'x'),
  ])
  assert.deepEqual(
    outcomes.map((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value : outcome.reason instanceof QueueFullError,
    ),
    [true, false, true],
  )
  assert.equal(outcomes[2]?.status, 'rejected')
  assert.equal(await hasher.verifyPassword(phc, 'x'), true)
  assert.deepEqual(defaultPasswordParams, { m: 19_456, t: 2, p: 1 })
})

test('the semaphore never exceeds its concurrency, keeps the order, and survives failing tasks', async () => {
  const run = createSemaphore({ concurrency: 2, maxQueue: 100 })
  const started: number[] = []
  let active = 0
  let most = 0
  const task = (i: number) => async () => {
    started.push(i)
    most = Math.max(most, ++active)
    await delay(1)
    active--
    if (i % 3 === 0) throw new Error('failing task')
    return i
  }
  const outcomes = await Promise.allSettled(Array.from({ length: 30 }, (_, i) => run(task(i))))
  assert.equal(most, 2)
  assert.deepEqual(
    started,
    Array.from({ length: 30 }, (_, i) => i),
  )
  assert.equal(outcomes.filter(({ status }) => status === 'rejected').length, 10)
  assert.equal(await run(async () => 'free again'), 'free again')
})
