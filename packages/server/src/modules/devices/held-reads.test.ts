import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Hold } from '../../http/answer/representation.ts'
import type { TenantId } from '../../kernel/actor.ts'
import { Representation } from '../../kernel/representation.ts'
import { type Change, everything, type Listener } from '../../replication/changes.ts'
import { type CallingDevice, createHeldReads } from './held-reads.ts'

const tenant = '00000000-0000-7000-8000-000000000001' as TenantId

/** Starts `size` held reads that all have `old`. */
async function startHerd(size: number) {
  let listener: Listener | undefined
  const reads = createHeldReads({
    changes: { listen: (_, given) => (listener = given) },
    fleet: { devicesOfUser: async () => [] },
    concernAll: ['policy'],
    longestLookMs: Infinity,
  })
  let tag = 'old'
  const signing = Promise.withResolvers<void>()
  const hold: Hold = {
    seconds: 60,
    whenGone: () => {},
    knows: ({ etag }) => etag === '"old"',
    decline: () => assert.fail('there is room'),
  }
  let looks = 0
  // A new representation must be signed once for all readers before it can be returned.
  const read = () => {
    looks++
    const made = new Representation<object>(tag, Buffer.from(tag))
    return tag === 'old' ? made : signing.promise.then(() => made)
  }
  const answered: string[] = []
  const all = Array.from({ length: size }, async (_, i) => {
    const given = await reads.readOrWait({ tenantId: tenant, id: String(i) }, read, hold)
    answered.push(given.etag ?? '')
  })
  await turn()
  return {
    reads,
    answered,
    all: Promise.all(all),
    publish: (next: string) => {
      tag = next
      listener?.changed(tenant, [{ kind: 'policy', subject: everything }])
    },
    change: (next: string) => {
      tag = next
    },
    sign: () => signing.resolve(),
    looks: () => looks,
  }
}

test('long polls are answered a few per turn of the event loop, after the shared work of the first', async () => {
  const herd = await startHerd(200)
  assert.equal(herd.reads.waiting(), 200)
  herd.publish('new')
  assert.equal(herd.answered.length, 0, 'the publish comes first')
  const before = herd.looks()
  for (let i = 0; i < 20; i++) await turn()
  assert.equal(herd.answered.length, 0)
  assert.equal(herd.looks() - before, 1, 'one has what all of them need made')
  herd.sign()
  let most = 0
  let turns = 0
  for (let before = 0; herd.answered.length < 200; before = herd.answered.length, turns++) {
    await turn()
    most = Math.max(most, herd.answered.length - before)
  }
  assert.ok(most <= 10, `${most} were answered in one turn`)
  assert.ok(turns >= 20, `only ${turns} turns`)
  await herd.all
  assert.equal(herd.reads.waiting(), 0)
})

test('a long poll that is answered late gets the newest state', async () => {
  const herd = await startHerd(100)
  herd.publish('new')
  herd.sign()
  while (herd.answered.length === 0) await turn()
  herd.change('newer')
  await herd.all
  assert.deepEqual([herd.answered[0], herd.answered.at(-1)], ['"new"', '"newer"'])
})

/** Returns the devices of the tenant, `0` to `2`, that read again after a change. User `jane` has device `1`. */
async function devicesReadAfter(change: Change): Promise<string[]> {
  let listener: Listener | undefined
  const reads = createHeldReads({
    changes: { listen: (_, given) => (listener = given) },
    fleet: { devicesOfUser: async (_, user) => (user === 'jane' ? ['1'] : []) },
    concernAll: ['policy', 'pool'],
    longestLookMs: Infinity,
  })
  const hold: Hold = { seconds: 60, whenGone: () => {}, knows: () => true, decline: () => assert.fail('there is room') }
  let looked = new Set<string>()
  const read = ({ id }: CallingDevice) => {
    looked.add(id)
    return new Representation<object>('same', Buffer.from('same'))
  }
  const all = ['0', '1', '2'].map((id) => reads.readOrWait({ tenantId: tenant, id }, read, hold))
  await turn()
  looked = new Set()
  listener?.changed(tenant, [change])
  for (let i = 0; i < 5; i++) await turn()
  reads.stop()
  await Promise.all(all)
  return [...looked].sort()
}

test('a change wakes exactly the devices that it concerns', async () => {
  const all = ['0', '1', '2']
  for (const [kind, subject, expected] of [
    ['user', 'jane', ['1']],
    ['user', 'john', []],
    ['user', everything, all],
    ['device', '2', ['2']],
    ['device', everything, all],
    ['policy', everything, all],
    ['pool', 'p', all],
    ['gateway', 'g', []],
    ['group', 'g', []],
    ['trust', everything, []],
  ] as const)
    assert.deepEqual(await devicesReadAfter({ kind, subject }), expected, `${kind} ${subject}`)
})
