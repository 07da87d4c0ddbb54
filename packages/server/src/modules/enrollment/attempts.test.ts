import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { TenantId } from '../../kernel/actor.ts'
import type { TokenAttempts } from './attempts.queries.ts'
import { createTokenAttempts } from './attempts.ts'

const tenantId = '00000000-0000-7000-8000-000000000001' as TenantId
const used = (tokenId: string, reason?: 'wrong_platform') => ({
  tenantId,
  tokenId,
  sourceIp: '192.0.2.1',
  platform: 'linux',
  ...(reason ? { outcome: 'refused' as const, reason } : { outcome: 'enrolled' as const }),
})

function start(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let clock = 0
  t.mock.method(performance, 'now', () => clock)
  const written: (readonly TokenAttempts[])[] = []
  const problems: string[] = []
  const database: { refuses: (batch: readonly TokenAttempts[]) => Error | undefined } = { refuses: () => undefined }
  const attempts = createTokenAttempts({
    write: async (batch) => {
      const refusal = database.refuses(batch)
      if (refusal) throw refusal
      written.push(batch)
    },
    now: () => new Date(clock),
    onError: (e) => problems.push(e.message),
  })
  const pass = async (ms: number) => {
    for (const end = clock + ms; clock < end; clock += 50) {
      t.mock.timers.tick(50)
      for (let i = 0; i < 5; i++) await turn()
    }
  }
  return { attempts, written, problems, database, pass }
}

test('attempts with one token are written once per second, with every refusal counted', async (t) => {
  const { attempts, written, pass } = start(t)
  for (let s = 0; s < 40; s++) {
    for (let i = 0; i < 100; i++) attempts.note(used('a', 'wrong_platform'))
    await pass(50)
  }
  await pass(2000)
  assert.ok(written.length <= 4, `${written.length} writes in two seconds and their end`)
  const all = written.flat()
  assert.equal(
    all.reduce((sum, { refused }) => sum + refused, 0),
    4000,
  )
})

test('the newest use of a token is kept, and concurrent uses of tokens share a write', async (t) => {
  const { attempts, written, pass } = start(t)
  attempts.note(used('a', 'wrong_platform'))
  await pass(50)
  attempts.note(used('a'))
  attempts.note(used('b', 'wrong_platform'))
  await pass(100)
  assert.deepEqual(
    written.map((batch) => batch.map((a) => [a.token_id, a.outcome, a.reason, a.refused])),
    [
      [
        ['a', 'enrolled', null, 1],
        ['b', 'refused', 'wrong_platform', 1],
      ],
    ],
  )
})

test('uses wait for an unavailable database, and only those of a deleted token are dropped', async (t) => {
  const { attempts, written, problems, database, pass } = start(t)
  database.refuses = () => new Error('unavailable')
  attempts.note(used('a', 'wrong_platform'))
  await pass(200)
  assert.deepEqual([written.length, problems], [0, ['unavailable']])
  database.refuses = (batch) =>
    batch.some((a) => a.token_id === 'gone')
      ? Object.assign(new Error('violates a foreign key'), { code: '23503' })
      : undefined
  attempts.note(used('a', 'wrong_platform'))
  attempts.note(used('gone'))
  await pass(6000)
  assert.deepEqual(
    written.flat().map((a) => [a.token_id, a.refused]),
    [['a', 2]],
  )
  assert.deepEqual(problems, ['unavailable', 'violates a foreign key'])
})
