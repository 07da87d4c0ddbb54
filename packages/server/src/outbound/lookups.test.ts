import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createLookups } from './lookups.ts'

const never = new AbortController().signal
/** Unlike AbortSignal.timeout, this timer keeps the process running. */
function within(ms: number): AbortSignal {
  const patience = new AbortController()
  setTimeout(() => patience.abort(new DOMException('it took too long', 'TimeoutError')), ms)
  return patience.signal
}
const names = (what: string, count: number) => Array.from({ length: count }, (_, i) => `${what}${i}.example`)
const [slowMs, keptMs] = [20, 500]

/** A resolver that does not answer for names `dead…` until they are rejected. */
function system() {
  const asked: string[] = []
  const dead = new Map<string, PromiseWithResolvers<readonly string[]>>()
  const lookups = createLookups(
    async (hostname) => {
      asked.push(hostname)
      if (!hostname.startsWith('dead')) return ['192.0.2.1']
      const waits = Promise.withResolvers<readonly string[]>()
      dead.set(hostname, waits)
      return waits.promise
    },
    { slowMs, keptMs },
  )
  const giveUp = () => {
    for (const waits of dead.values()) waits.reject(new Error('ENOTFOUND'))
    dead.clear()
  }
  return { asked, lookups, giveUp, held: () => dead.size }
}

test('names without an answer do not delay known names, and use a limited number of threads', async () => {
  const { asked, lookups, giveUp, held } = system()
  assert.deepEqual(await lookups('good.example', never), ['192.0.2.1'])
  const patience = new AbortController()
  const given = names('dead', 20).map((name) => assert.rejects(lookups(name, patience.signal)))
  await delay(slowMs * 2)
  assert.equal(held(), 6, 'of those of which nothing is known')
  assert.deepEqual(await lookups('good.example', never), ['192.0.2.1'])
  giveUp()
  await delay(1)
  assert.equal(held(), 6, 'the next ones')
  patience.abort()
  await Promise.all(given)
  giveUp()
  await delay(keptMs + 10)

  // A failed name is retried on fewer threads, which leaves threads for new names.
  const more = new AbortController()
  const again = names('dead', 12).map((name) => assert.rejects(lookups(name, more.signal)))
  await delay(1)
  assert.equal(held(), 2)
  asked.length = 0
  assert.deepEqual(await lookups('new.example', never), ['192.0.2.1'])
  more.abort()
  await Promise.all(again)
  giveUp()
  await delay(1)
  assert.equal(held(), 0, 'an abandoned look-up is not started')
})

test('concurrent look-ups of a name share one query and briefly its failure; addresses are looked up anew', async () => {
  const { asked, lookups, giveUp } = system()
  await Promise.all(names('x', 5).map(() => lookups('good.example', never)))
  assert.deepEqual(asked, ['good.example'])
  await lookups('good.example', never)
  assert.equal(asked.length, 2)

  asked.length = 0
  const first = assert.rejects(lookups('dead.example', never), /ENOTFOUND/)
  await assert.rejects(lookups('dead.example', within(10)), { name: 'TimeoutError' })
  while (asked.length < 1) await delay(1)
  giveUp()
  await first
  await assert.rejects(lookups('dead.example', never), /ENOTFOUND/)
  assert.deepEqual(asked, ['dead.example'])
  await delay(keptMs + 10)
  const later = assert.rejects(lookups('dead.example', never), /ENOTFOUND/)
  while (asked.length < 2) await delay(1)
  giveUp()
  await later
  assert.equal(asked.length, 2)
})
