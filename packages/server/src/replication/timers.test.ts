// Own process: it replaces setTimeout and the clock, and timers of other tests would not fire.
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { createTimers, untilTick } from './timers.ts'

/** Alarms on a fake clock, and the number of timer wake-ups. */
function kit(t: { after: (f: () => void) => void }) {
  let now = 0
  const clock = mock.method(performance, 'now', () => now)
  mock.timers.enable({ apis: ['setTimeout'] })
  t.after(() => {
    clock.mock.restore()
    mock.timers.reset()
  })
  const timers = mock.method(globalThis, 'setTimeout')
  t.after(() => timers.mock.restore())
  const alarms = createTimers()
  const rung: [string, number][] = []
  return {
    rung,
    armed: () => timers.mock.callCount(),
    set: (name: string, ms: number) => alarms.set(ms, () => rung.push([name, now])),
    pass: (ms: number) => {
      for (let i = 0; i < ms; i++) {
        now++
        mock.timers.tick(1)
      }
    },
  }
}

test('a short wait ends exactly at its time', (t) => {
  const { set, pass, rung } = kit(t)
  set('b', 50)
  set('a', 20)
  set('c', 9000)
  pass(10_000)
  assert.deepEqual(rung, [
    ['a', 20],
    ['b', 50],
    ['c', 9000],
  ])
})

for (const [waiting, most, wakes] of [
  [100, 35, 80],
  [1000, 30, 250],
  [20_000, 100, 630],
] as const)
  test(`${waiting} waits that end within five minutes take ${wakes} wake-ups, at most ${most} each`, (t) => {
    const { set, pass, rung } = kit(t)
    const ends: number[] = []
    for (let i = 0; i < waiting; i++) {
      const ms = 300_000 + Math.floor((((i * 7919) % waiting) * 300_000) / waiting)
      ends.push(ms)
      set(String(ends.length - 1), ms)
    }
    pass(600_500)
    assert.equal(rung.length, waiting)
    for (const [i, at] of rung) assert.ok(at <= ends[Number(i)]! && at > ends[Number(i)]! * (59 / 60) - 480)
    const sizes = [...Map.groupBy(rung, ([, at]) => at).values()].map((all) => all.length)
    assert.ok(Math.max(...sizes) <= most, `${Math.max(...sizes)} at once`)
    assert.ok(sizes.length <= wakes, `woken ${sizes.length} times`)
  })

test('waits of half a minute end at most half a second early', (t) => {
  const { set, pass, rung, armed } = kit(t)
  for (let i = 0; i < 480; i++) set('x', 30_000 + i)
  const before = armed()
  pass(31_000)
  assert.equal(rung.length, 480)
  for (const [, at] of rung) assert.ok(at > 29_500 && at <= 30_000 + 480)
  assert.equal(new Set(rung.map(([, at]) => at)).size, 2, 'two ticks')
  assert.ok(armed() - before <= 3, `${armed() - before} timers`)
})

test('a cancelled alarm does not ring, and no timer is left after the last', (t) => {
  const { set, pass, rung } = kit(t)
  const silence = [set('a', 100), set('b', 100), set('c', 20_000)]
  silence[0]!()
  silence[0]!()
  pass(150)
  assert.deepEqual(rung, [['b', 100]])
  silence[2]!()
  pass(30_000)
  assert.equal(rung.length, 1)
})

test('an alarm that is set by an alarm rings too', (t) => {
  const { set, pass, rung } = kit(t)
  const alarms = createTimers()
  alarms.set(10, () => alarms.set(10, () => rung.push(['again', performance.now()])))
  set('other', 500)
  pass(600)
  assert.deepEqual(rung, [
    ['again', 20],
    ['other', 500],
  ])
})

test('ticks are at the same times for all alarms, at least two per second', () => {
  for (let now = 0; now < 2000; now += 0.7) {
    const left = untilTick(now)
    assert.ok(left > 20 && left <= 500, `${left} ms after ${now}`)
    assert.ok((now + left) % 480 < 1 || (now + left) % 480 > 479, `${now} + ${left}`)
  }
})
