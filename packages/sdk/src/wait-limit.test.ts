import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startControl } from '../test/support/device-control-plane.ts'
import { startGatewayControl } from '../test/support/gateway-control-plane.ts'
import type { Answered, Asked } from '../test/support/scripted-server.ts'
import { ApiError, ConnectionError } from './errors.ts'
import { createWaitLimit } from './wait-limit.ts'

/** nginx with `proxy_read_timeout 30s`, with its own error page. */
const proxySeconds = 30
const cut: Answered[] = [
  ...[502, 503, 504].map(
    (status) => ({ status, headers: { 'content-type': 'text/html' }, text: '<html>' }) as Answered,
  ),
  'hang up',
]

/** Mocks the time that passes while a proxy holds a request. */
function mockTime(t: TestContext) {
  const real = performance.now.bind(performance)
  let passed = 0
  t.mock.method(performance, 'now', () => real() + passed)
  return (seconds: number) => {
    passed += seconds * 1000
  }
}
const waitIn = ({ headers }: Pick<Asked, 'headers'>) =>
  Number(/wait=(\d+)/.exec(String(headers.prefer ?? ''))?.[1] ?? 0)

/**
 * Simulates such a proxy: `answer` cuts each wait until one is short enough, and `seen` ends then. `undefined`: the
 * request gets its usual answer.
 */
function behindProxy(t: TestContext, answer: Answered) {
  const pass = mockTime(t)
  const waits: number[] = []
  const stop = new AbortController()
  return {
    waits,
    stop,
    on: (asked: Pick<Asked, 'headers'>): Answered | undefined => {
      const wait = waitIn(asked)
      if (wait === 0) return undefined
      waits.push(wait)
      if (wait < proxySeconds) {
        pass(wait)
        // The second short wait: the learned limit persists.
        if (waits.filter((w) => w < proxySeconds).length > 1) stop.abort()
        return undefined
      }
      pass(proxySeconds)
      return answer
    },
  }
}
type Proxy = ReturnType<typeof behindProxy>

/** Each loop with long polls. Returns the reported states of the server. */
const loops: Record<string, (t: TestContext, proxy: Proxy) => Promise<string[]>> = {
  'the policy of a device': async (t, { on, stop }) => {
    const control = await startControl(t)
    const device = await control.enrollNow()
    control.instead['/v1/policy/bundle'] = on
    const told: string[] = []
    await device.runPolling({ signal: stop.signal, onPolicy: () => {}, onStatus: ({ status }) => told.push(status) })
    return told
  },
  'the directory of a device': async (t, { on, stop }) => {
    const control = await startControl(t)
    const device = await control.enrollNow()
    const directory = await control.issuer.directory({ pools: [], seq: 5 })
    const usual = { headers: { etag: '"a"' }, body: { directory, digest: '', seq: 5, ttl_seconds: 60 } }
    control.instead['/v1/gateway/pools'] = (asked) =>
      on(asked) ?? (asked.headers['if-none-match'] ? { status: 304 } : usual)
    await device.followDirectory({ signal: stop.signal, onDirectory: () => {} })
    return []
  },
  'the policy of a gateway, and its revocation lists': async (t, { on, stop }) => {
    const control = await startGatewayControl(t)
    const told: string[] = []
    control.instead = (asked) => on(asked)
    await control.open().runPulling({
      signal: stop.signal,
      wait: 50,
      onChange: () => {},
      onCrls: () => {},
      onStatus: ({ status }) => told.push(status),
    })
    return told
  },
}

for (const [name, run] of Object.entries(loops))
  for (const answer of cut)
    test(`${name}: a wait that a proxy cut with ${typeof answer === 'string' ? answer : answer.status} is asked for shorter, and nothing is unreachable`, {
      timeout: 20_000,
    }, async (t) => {
      const proxy = behindProxy(t, answer)
      const told = await run(t, proxy)
      assert.ok(proxy.waits[0]! >= proxySeconds, `${proxy.waits}`)
      assert.ok(proxy.waits.filter((w) => w >= proxySeconds).length <= 2, `${proxy.waits}`)
      assert.ok(proxy.waits.at(-1)! < proxySeconds && proxy.waits.at(-1)! >= 12, `${proxy.waits}`)
      assert.ok(!told.includes('unreachable'), `${told}`)
    })

test('what fails at once, or was not to wait, is no wait that was cut; a longer one is tried again after an hour', (t) => {
  const pass = mockTime(t)
  const limit = createWaitLimit()
  const gateway = new ApiError(504, { code: 'unexpected_response', detail: 'x' })
  const no: [e: unknown, held: number, took: number][] = [
    [gateway, 240, 1],
    [gateway, 0, 60],
    [new ConnectionError('x'), 240, 14],
    [new ApiError(500, { code: 'internal_error', detail: 'x' }), 240, 60],
    [new ApiError(401, { code: 'unauthorized', detail: 'x' }), 240, 60],
    [new Error('x'), 240, 60],
  ]
  for (const [e, held, took] of no) assert.equal(limit.cuts(e, { held, took }), false)
  assert.equal(
    limit.bound(240, () => 0),
    240,
  )
  assert.equal(limit.cuts(gateway, { held: 240, took: 60 }), true)
  for (const random of [0, 0.5, 1]) {
    const bound = limit.bound(240, () => random)
    assert.ok(bound >= 38 && bound <= 48, `${bound}`)
  }
  assert.equal(
    limit.bound(20, () => 0),
    20,
  )
  pass(3601)
  assert.equal(
    limit.bound(240, () => 0),
    240,
  )
})
