import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { changedKindNames } from '@holdfast/contract/stream'
import type { Actor, Principal, TenantId } from '../../kernel/actor.ts'
import { encodeId } from '../../kernel/ids.ts'
import type { Change, Listener } from '../../replication/changes.ts'
import { ChangeBatch } from './batch.ts'
import type { StreamDeps } from './deps.ts'
import { createHub } from './hub.ts'
import { OpenStream } from './open-stream.ts'

const tenant = randomUUID() as TenantId
const permissions = new Set(['devices:read', 'users:read', 'groups:read', 'audit:read'] as const)
const actorOf = (id = randomUUID(), ownerId: string | null = null) =>
  ({
    tenantId: tenant,
    principal: { kind: 'api_key', tenantId: tenant, id, ownerId, permissions } as unknown as Principal<'api_key'>,
  }) as Actor<'api_key'>
function streamOf(actor = actorOf(), stands: OpenStream['stands'] = async () => actor) {
  const kinds = new Set(changedKindNames.filter((kind) => kind === 'devices' || kind === 'users'))
  return new OpenStream({ tenant, actor, stands, scope: { kinds, permissions, isFiltered: false } })
}
const device = (subject: string = randomUUID()): Change => ({ kind: 'device', subject })
const begins = { id: '1-1', missed: new ChangeBatch() }
const textOf = async (bytes: AsyncIterator<Uint8Array>) => new TextDecoder().decode((await bytes.next()).value)

/** A hub whose database counts its statements. */
function open(t: TestContext) {
  const state = { asked: 0, seq: 1, watched: 0, head: Promise.resolve(1) }
  let listener: Listener | undefined
  const deps: StreamDeps = {
    db: {} as StreamDeps['db'],
    changes: {
      listen: (_stage, given) => {
        listener = given
      },
    },
    feed: { isFresh: () => true, catchUp: async () => {}, seqOf: () => state.seq, onBeat: () => {} },
    signals: {
      listen: () => {},
      onLost: () => {},
      watch: () => {
        state.watched++
        return () => void state.watched--
      },
    },
    now: () => new Date(),
    audit: {
      headOf: () => state.head,
      since: async () => {
        state.asked++
        return { head: 1, events: [], more: [] }
      },
    },
    statusOf: () => 'active',
    idleExpiresAt: async () => null,
    onError: (e) => assert.fail(String(e)),
  }
  const hub = createHub(deps)
  const gone = new AbortController()
  t.after(() => gone.abort())
  return { hub, state, gone, change: (...list: Change[]) => listener?.changed(tenant, list) }
}

test('a client that does not read gets one bounded batch of missed changes, and no event twice', async () => {
  const gone = new AbortController()
  const stream = streamOf()
  const bytes = stream.bytes(gone.signal, begins)
  assert.match(await textOf(bytes), /^retry: 2000\n\nevent: ready\nid: 1-1\n/)
  const ids = Array.from({ length: 1000 }, () => randomUUID())
  for (const [i, id] of ids.entries()) {
    const batch = new ChangeBatch()
    batch.change(device(id))
    batch.change({ kind: 'user', subject: ids[0]! })
    batch.auditSeq = i + 2
    stream.push(batch, `${i + 2}-${i + 2}`)
  }
  const text = await textOf(bytes)
  assert.equal(
    text,
    `event: changed\nid: 1-1\ndata: {"changes":[{"kind":"devices","ids":[],"many":true},{"kind":"users","ids":["${encodeId('user', ids[0]!)}"],"many":false}]}\n\n` +
      'event: audit\nid: 1001-1001\ndata: {"seq":1001}\n\n',
  )
  const waits = bytes.next()
  stream.end('stopping')
  assert.match(new TextDecoder().decode((await waits).value as Uint8Array), /retry: \d+\n\nevent: end\nid: 1001-1001\n/)
  assert.equal((await bytes.next()).done, true)
})

test('a batch names at most fifty ids; further ones become "many"', async () => {
  const stream = streamOf()
  const bytes = stream.bytes(new AbortController().signal, begins)
  await bytes.next()
  const batch = new ChangeBatch()
  for (let i = 0; i < 45; i++) batch.change(device())
  for (let i = 0; i < 10; i++) batch.change({ kind: 'user', subject: randomUUID() })
  stream.push(batch, '2-1')
  const [line = ''] = (await textOf(bytes)).split('\n').filter((l) => l.startsWith('data'))
  const { changes } = JSON.parse(line.slice(5)) as { changes: { ids: string[]; many: boolean }[] }
  assert.deepEqual(
    changes.map(({ ids, many }) => [ids.length, many]),
    [
      [45, false],
      [0, true],
    ],
  )
  await bytes.return(undefined)
})

test('the streams of a tenant and of a caller are limited, and without a stream nothing is watched', async (t) => {
  const { hub, state, gone, change } = open(t)
  change(device())
  assert.deepEqual([state.asked, state.watched], [0, 0])
  const callers = Array.from({ length: 100 }, () => actorOf())
  const streams = callers.flatMap((actor) => [streamOf(actor), streamOf(actor)])
  const opened = await Promise.all(streams.map((stream) => hub.open(stream, undefined, gone.signal)))
  assert.deepEqual([hub.count(), state.watched], [200, 1])
  await assert.rejects(hub.open(streamOf(), undefined, gone.signal), /too many open event streams/)
  for (const bytes of opened) await bytes.next()
  for (const bytes of opened) await bytes.return(undefined)
  assert.deepEqual([hub.count(), state.watched], [0, 0])
  await hub.open(streamOf(), undefined, gone.signal)
  gone.abort()
  assert.deepEqual([hub.count(), state.watched], [0, 0], 'of a client that goes before it reads')
})

test('a change of the API key pauses its stream until the key is checked, and a failed check sends nothing', async (t) => {
  const { hub, gone, change } = open(t)
  const actor = actorOf()
  const judged = Promise.withResolvers<undefined>()
  let calls = 0
  const stream = streamOf(actor, async () => (calls++ === 0 ? actor : judged.promise))
  const bytes = await hub.open(stream, undefined, gone.signal)
  await bytes.next()
  const next = bytes.next()
  change({ kind: 'api_key', subject: actor.principal.id }, device())
  await new Promise((resolve) => setTimeout(resolve, 300))
  judged.resolve(undefined)
  assert.match(
    new TextDecoder().decode((await next).value as Uint8Array),
    /^event: end\n.*\ndata: {"reason":"key_ended"}/,
  )
  assert.equal((await bytes.next()).done, true)
})

test('a stream opened while the replica stops ends at once', async (t) => {
  const { hub, gone } = open(t)
  hub.stop()
  const bytes = await hub.open(streamOf(), undefined, gone.signal)
  assert.match((await textOf(bytes)) + (await textOf(bytes)), /event: end\n.*\ndata: {"reason":"stopping"}/)
  assert.equal((await bytes.next()).done, true)
})

test('a client that disconnects while the database hangs leaves nothing behind', async (t) => {
  const { hub, state, gone, change } = open(t)
  const head = Promise.withResolvers<number>()
  state.head = head.promise
  const leaver = new AbortController()
  const left = streamOf()
  const opening = hub.open(left, undefined, leaver.signal)
  leaver.abort()
  const stays = streamOf()
  const other = hub.open(stays, undefined, gone.signal)
  head.resolve(1)
  await (await opening).return(undefined)
  const bytes = await other
  await bytes.next()
  const pushed = t.mock.method(left, 'push')
  const next = bytes.next()
  change(device())
  await next
  assert.equal(pushed.mock.callCount(), 0, 'nothing is gathered for a client that is gone')
  await bytes.return(undefined)
  assert.deepEqual([hub.count(), state.watched], [0, 0])

  const again = Promise.withResolvers<number>()
  state.head = again.promise
  const alone = new AbortController()
  const last = hub.open(streamOf(), undefined, alone.signal)
  alone.abort()
  again.resolve(1)
  await (await last).return(undefined)
  assert.deepEqual([hub.count(), state.watched], [0, 0], 'nor is the tenant watched for nobody')
})

test('streams of a caller that wait for the database are limited too', async (t) => {
  const { hub, state, gone } = open(t)
  const head = Promise.withResolvers<number>()
  state.head = head.promise
  const actor = actorOf()
  const opening = Array.from({ length: 50 }, () => hub.open(streamOf(actor), undefined, gone.signal))
  const count = hub.count()
  head.resolve(1)
  const opened = await Promise.allSettled(opening)
  assert.ok(count <= 6, `${count} are open`)
  assert.equal(opened.filter(({ status }) => status === 'rejected').length, 50 - count)
})

test('a person with many keys or sessions leaves room for others of the tenant', async (t) => {
  const { hub, gone } = open(t)
  const person = randomUUID()
  const asked = Array.from({ length: 60 }, () =>
    hub.open(streamOf(actorOf(randomUUID(), person)), undefined, gone.signal),
  )
  const opened = (await Promise.allSettled(asked)).filter(({ status }) => status === 'fulfilled')
  assert.deepEqual([opened.length, hub.count()], [20, 20])
  await hub.open(streamOf(), undefined, gone.signal)
})
