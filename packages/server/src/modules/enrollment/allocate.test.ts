import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Asks, allocate, type By, type Situation } from './allocate.ts'

const byToken = (tokenId = 't', userId: string | null = null): By => ({ method: 'token', tokenId, userId })
const byProvider = (userId = 'ada', providerId = 'p'): By => ({
  method: 'oidc',
  providerId,
  userId,
  ticket: Buffer.from('ticket'),
})
const asks = (more: Partial<Asks> = {}): Asks => ({ by: byToken(), jkt: null, maxDevicesPerUser: null, ...more })
const situation = (more: Partial<Situation<Asks>> = {}): Situation<Asks> => ({
  replayed: new Set(),
  usedTickets: new Set(),
  openProviders: new Set(['p']),
  usesLeft: new Map([['t', Number.POSITIVE_INFINITY]]),
  devicesOf: new Map(),
  takenKeys: new Set(),
  room: Number.POSITIVE_INFINITY,
  ...more,
})

test('uses of a token go to the first requests, and other tokens are not affected', () => {
  const batch = [asks(), asks({ by: byToken('u') }), asks(), asks(), asks({ by: byToken('revoked') })]
  const usesLeft = new Map([
    ['t', 2],
    ['u', 1],
  ])
  assert.deepEqual(allocate(batch, situation({ usesLeft })), [
    'granted',
    'granted',
    'granted',
    'token_spent',
    'token_spent',
  ])
})

test('a refused request takes no use of the token', () => {
  const replay = asks()
  const batch = [
    replay,
    asks({ jkt: 'taken' }),
    asks({ by: byToken('t', 'full'), maxDevicesPerUser: 3 }),
    asks({ by: byToken('t', 'gone') }),
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
  assert.deepEqual(allocate(batch, found), [
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

test('an enrollment by a provider needs an enrolling provider, a fresh ticket and an existing user, and no token', () => {
  const used = asks({ by: byProvider() })
  const batch = [
    asks({ by: byProvider() }),
    asks({ by: byProvider('ada', 'closed') }),
    used,
    asks({ by: byProvider('gone') }),
    asks({ by: byProvider('ada'), maxDevicesPerUser: 1 }),
    asks({ by: byToken('t', 'ada'), maxDevicesPerUser: 2 }),
  ]
  const found = situation({
    usedTickets: new Set([used]),
    devicesOf: new Map([['ada', 0]]),
    usesLeft: new Map([['t', 1]]),
  })
  assert.deepEqual(allocate(batch, found), [
    'granted',
    'provider_closed',
    'challenge_spent',
    'user_gone',
    'too_many_devices',
    'granted',
  ])
})

test('devices of a user count for all tokens, each with its own limit', () => {
  const of = (maxDevicesPerUser: number | null) => asks({ by: byToken('t', 'ada'), maxDevicesPerUser })
  const found = situation({ devicesOf: new Map([['ada', 1]]) })
  assert.deepEqual(allocate([of(2), of(2), of(null), of(3), of(4)], found), [
    'granted',
    'too_many_devices',
    'granted',
    'too_many_devices',
    'granted',
  ])
})

test('a batch gets the same decisions as one request after the other', () => {
  const few = fc.constantFrom('a', 'b', 'c')
  const ask = fc.record({
    by: fc.oneof(
      fc.tuple(few, fc.option(few)).map(([token, user]) => byToken(token, user)),
      fc.tuple(few, few).map(([user, provider]) => byProvider(user, provider)),
    ),
    isSpent: fc.boolean(),
    jkt: fc.option(few),
    maxDevicesPerUser: fc.option(fc.integer({ min: 1, max: 4 })),
  })
  const counts = fc.array(fc.tuple(few, fc.integer({ min: 0, max: 4 }))).map((pairs) => new Map(pairs))
  fc.assert(
    fc.property(
      fc.array(ask),
      counts,
      counts,
      fc.array(few),
      fc.array(few),
      (batch, usesLeft, devicesOf, keys, open) => {
        const spent = new Set<Asks>(batch.filter((a) => a.isSpent))
        const openProviders = new Set<string>(open)
        const together = allocate(
          batch,
          situation({ usedTickets: spent, openProviders, usesLeft, devicesOf, takenKeys: new Set(keys) }),
        )
        const uses = new Map<string, number>(usesLeft)
        const devices = new Map<string, number>(devicesOf)
        const takenKeys = new Set(keys)
        const alone = batch.map((a) => {
          const [verdict] = allocate(
            [a],
            situation({ usedTickets: spent, openProviders, usesLeft: uses, devicesOf: devices, takenKeys }),
          )
          if (verdict !== 'granted') return verdict
          if (a.by.method === 'token') uses.set(a.by.tokenId, (uses.get(a.by.tokenId) ?? 0) - 1)
          else assert.ok(openProviders.has(a.by.providerId) && !a.isSpent)
          if (a.by.userId) devices.set(a.by.userId, (devices.get(a.by.userId) ?? 0) + 1)
          if (a.jkt) takenKeys.add(a.jkt)
          return verdict
        })
        assert.deepEqual(together, alone)
        assert.ok([...uses.values()].every((n) => n >= 0))
      },
    ),
  )
})

test('the remaining devices of a tenant go to the first requests, and refused ones take none', () => {
  const batch = [asks({ jkt: 'taken' }), asks(), asks({ by: byToken('revoked') }), asks(), asks()]
  assert.deepEqual(allocate(batch, situation({ takenKeys: new Set(['taken']), room: 2 })), [
    'key_taken',
    'granted',
    'token_spent',
    'granted',
    'no_place_left',
  ])
})
