import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { TenantId } from '../kernel/actor.ts'
import type { Mail } from './feed-connection.ts'
import { createSignals } from './signals.ts'

/** Replicas whose messages reach all of them at once. `sent` counts the messages. */
function replicas(count: number) {
  const state = { sent: [] as string[] }
  const mails: Mail[] = []
  const feed = {
    onBeat: () => {},
    carry: (mail: Mail) => {
      mails.push(mail)
      return () => {
        for (const payload of mail.take()) {
          state.sent.push(payload)
          for (const each of mails) each.onNotification(payload)
        }
      }
    },
  }
  const made = Array.from({ length: count }, () => createSignals({ db: { afterCommit: (_, f) => f() }, feed }))
  return { state, made, mails }
}
const tenant = randomUUID() as TenantId

test('a signal costs nothing without a watcher, and reaches watchers on any replica', () => {
  const { state, made, mails } = replicas(3)
  const [one, two, three] = made
  const heard: string[] = []
  for (const [i, signals] of made.entries())
    signals.listen((_, topic, subjects, isRemote) => heard.push(`${i} ${topic} ${subjects} ${isRemote}`))
  one!.tell(tenant, 'vpn_session', ['a'])
  assert.deepEqual([state.sent, heard], [[], []])

  const over = two!.watch(tenant)
  one!.tell(tenant, 'vpn_session', ['a', 'b'])
  two!.tell(tenant, 'notification', ['c'])
  one!.tell(tenant, 'audit', [])
  one!.tell(randomUUID() as TenantId, 'audit', [])
  assert.deepEqual(heard.splice(0), ['1 vpn_session a,b true', '1 notification c false', '1 audit  true'])
  one!.tell(
    tenant,
    'gateway',
    Array.from({ length: 60 }, () => randomUUID()),
  )
  assert.deepEqual(heard.splice(0), ['1 gateway many true'])
  for (const payload of state.sent) assert.ok(payload.length < 8000)

  // A replica that starts later or reconnects asks which tenants the others watch.
  let lost = 0
  three!.onLost(() => lost++)
  let lostOfOthers = 0
  two!.onLost(() => lostOfOthers++)
  mails[2]!.connected()
  assert.equal(lost, 1)
  assert.equal(lostOfOthers, 1, 'messages of a replica may be lost with its connection')
  three!.tell(tenant, 'vpn_session', ['d'])
  assert.deepEqual(heard.splice(0), ['1 vpn_session d true'])

  over()
  over()
  two!.tell(tenant, 'vpn_session', ['e'])
  one!.tell(tenant, 'vpn_session', ['e'])
  assert.deepEqual(heard, [], 'no watcher is left')
})
