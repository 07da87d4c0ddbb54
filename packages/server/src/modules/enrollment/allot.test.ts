import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Asks, allot, type Situation } from './allot.ts'

const asks = (more: Partial<Asks> = {}): Asks => ({
  tokenId: 't',
  userId: null,
  jkt: null,
  maxDevicesPerUser: null,
  ...more,
})
const situation = (more: Partial<Situation<Asks>> = {}): Situation<Asks> => ({
  replayed: new Set(),
  usesLeft: new Map([['t', Number.POSITIVE_INFINITY]]),
  devicesOf: new Map(),
  takenKeys: new Set(),
  ...more,
})

test('uses of a token go to those who came first; another token is not concerned', () => {
  const batch = [asks(), asks({ tokenId: 'u' }), asks(), asks(), asks({ tokenId: 'revoked' })]
  const usesLeft = new Map([
    ['t', 2],
    ['u', 1],
  ])
  assert.deepEqual(allot(batch, situation({ usesLeft })), [
    'granted',
    'granted',
    'granted',
    'token_spent',
    'token_spent',
  ])
})

test('whoever is refused takes no use', () => {
  const replay = asks()
  const batch = [
    replay,
    asks({ jkt: 'taken' }),
    asks({ userId: 'full', maxDevicesPerUser: 3 }),
    asks({ userId: 'gone' }),
    asks({ jkt: 'mine' }),
    asks({ jkt: 'mine' }),
    asks(),
    asks(),
  ]
  const found = situation({
    replayed: new Set([replay]),
    usesLeft: new Map([['t', 2]]),
    devicesOf: new Map([['full', 3]]),
    takenKeys: new Set(['taken']),
  })
  assert.deepEqual(allot(batch, found), [
    'proof_replayed',
    'key_taken',
    'too_many_devices',
    'user_gone',
    'granted',
    'key_taken',
    'granted',
    'token_spent',
  ])
})

test('devices of a user count whichever token they come by, and each token has its own limit', () => {
  const of = (maxDevicesPerUser: number | null) => asks({ userId: 'ada', maxDevicesPerUser })
  const found = situation({ devicesOf: new Map([['ada', 1]]) })
  assert.deepEqual(allot([of(2), of(2), of(null), of(3), of(4)], found), [
    'granted',
    'too_many_devices',
    'granted',
    'too_many_devices',
    'granted',
  ])
})

test('a batch is granted what its members would be granted one after the other', () => {
  const few = fc.constantFrom('a', 'b', 'c')
  const ask = fc.record({
    tokenId: few,
    userId: fc.option(few),
    jkt: fc.option(few),
    maxDevicesPerUser: fc.option(fc.integer({ min: 1, max: 4 })),
  })
  const counts = fc.array(fc.tuple(few, fc.integer({ min: 0, max: 4 }))).map((pairs) => new Map(pairs))
  fc.assert(
    fc.property(fc.array(ask), counts, counts, fc.array(few), (batch, usesLeft, devicesOf, keys) => {
      const together = allot(batch, situation({ usesLeft, devicesOf, takenKeys: new Set(keys) }))
      const uses = new Map(usesLeft)
      const devices = new Map(devicesOf)
      const takenKeys = new Set(keys)
      const alone = batch.map((a) => {
        const [verdict] = allot([a], situation({ usesLeft: uses, devicesOf: devices, takenKeys }))
        if (verdict !== 'granted') return verdict
        uses.set(a.tokenId, (uses.get(a.tokenId) ?? 0) - 1)
        if (a.userId) devices.set(a.userId, (devices.get(a.userId) ?? 0) + 1)
        if (a.jkt) takenKeys.add(a.jkt)
        return verdict
      })
      assert.deepEqual(together, alone)
      assert.ok([...uses.values()].every((n) => n >= 0))
    }),
  )
})
