/**
 * Preloaded into a process. Shifts its wall clock by HOLDFAST_TEST_CLOCK_MS milliseconds. Durations
 * (`performance.now()`, timers) are unaffected, as with a clock that is set wrongly.
 */
const offset = Number(process.env.HOLDFAST_TEST_CLOCK_MS)
const RealDate = Date
const realNow = RealDate.now.bind(RealDate)
globalThis.Date = new Proxy(RealDate, {
  construct: (target, given: [], newTarget) =>
    Reflect.construct(target, given.length === 0 ? [realNow() + offset] : given, newTarget),
  apply: () => new RealDate(realNow() + offset).toString(),
  get: (target, name, receiver) => (name === 'now' ? () => realNow() + offset : Reflect.get(target, name, receiver)),
})
process.stderr.write(`wall clock: ${new Date().toISOString()}\n`)
