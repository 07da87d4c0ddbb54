import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { changeSecuritySettings, createClient, signIn } from '@holdfast/sdk'
import { type Agent, request } from 'undici'
import { enrollRaw } from '../support/actors/devices.ts'
import { call, operation, sendToKit } from '../support/clients/api-calls.ts'
import { processPassword, startProcesses } from '../support/deployment/server-processes.ts'
import { clientAddress, guideUrl, startGuideProxy } from './guide-proxies.ts'
import { freePort } from './program.ts'
import { without } from './tools.ts'

/** Longer than the default of nginx, 60 seconds. */
const waitSeconds = 62

/** Two replicas as the guide sets them up, with fixed ports, so that each can be started again. */
async function startReplicas(t: TestContext) {
  const processes = await startProcesses(t)
  const ports: [number, number] = [await freePort(), await freePort()]
  const start = (port: number) =>
    processes.start(undefined, {
      HOLDFAST_PORT: String(port),
      HOLDFAST_PUBLIC_URL: guideUrl,
      HOLDFAST_TRUSTED_PROXIES: '127.0.0.1',
      HOLDFAST_DRAIN_SECONDS: '5',
    })
  const running = await Promise.all(ports.map(start))
  const untilReady = async (replica: (typeof running)[number]) => {
    while (!(await replica.isReady())) await delay(200)
  }
  await Promise.all(running.map(untilReady))
  return {
    ports,
    restartEach: async () => {
      for (const [i, replica] of running.entries()) {
        replica.signal()
        const { how } = await replica.end()
        assert.equal(how, '0', replica.output())
        await untilReady(await start(ports[i]!))
        await delay(2000)
      }
    },
  }
}

/** A device polls for longer than the proxy's default timeout. Returns the seconds and the status. */
async function holdPoll(target: { publicUrl: string; dispatcher: Agent }, token: string) {
  const device = await enrollRaw(target, token)
  const digest = operation('policyDigest')
  const first = await call(target, digest, device.caller)
  assert.equal(first.status, 200, first.text)
  const since = performance.now()
  const { status } = await call(target, digest, (method, url) => ({
    ...device.caller(method, url),
    prefer: `wait=${waitSeconds}`,
    'if-none-match': String(first.headers.etag),
  }))
  return { status, seconds: (performance.now() - since) / 1000 }
}

/** Opens an event stream and creates a group. Returns the time in ms until the stream names it. */
async function streamLatency(dispatcher: Agent, key: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}` }
  const { statusCode, body } = await request(`${guideUrl}/v1/admin/stream`, { headers, dispatcher })
  assert.equal(statusCode, 200)
  const admin = createClient({ baseUrl: guideUrl, credential: key, dispatcher })
  let text = ''
  let createdAt = 0
  let id = 'none yet'
  for await (const chunk of body) {
    text += String(chunk)
    if (createdAt === 0 && text.includes('event: ready')) {
      createdAt = performance.now()
      void admin
        .changeGroup({ body: { operation: 'create', group: { name: `streamed ${Math.random()}` } } })
        .then(({ group }) => (id = group.group_id))
    }
    if (text.includes(id)) return performance.now() - createdAt
  }
  throw new Error(`the stream ended: ${text}`)
}

/**
 * Reads and writes until it is stopped. Returns the number of answers, and those that are no success. A proxy may not
 * repeat a write that a replica did not answer, so it answers 502. A client then repeats the write with its key, as the
 * guide says.
 */
function startLoad(target: { publicUrl: string; dispatcher: Agent }, key: string) {
  let isStopped = false
  let answered = 0
  const failed: string[] = []
  const one = async (n: number) => {
    for (let i = 0; !isStopped; i++) {
      const group = { operation: 'create', group: { name: `load ${n} ${i}` } }
      const idempotent = () => ({ authorization: `Bearer ${key}`, 'idempotency-key': `load-${n}-${i}` })
      const writeOnce = () => call(target, operation('changeGroup'), idempotent, group)
      const write = async () => {
        const first = await writeOnce()
        return first.status === 502 ? await writeOnce() : first
      }
      const read = () => sendToKit(target, 'GET', '/v1/admin/users', { authorization: `Bearer ${key}` })
      const answer = await (n % 2 ? write() : read()).catch((e: Error) => ({ status: 0, text: String(e) }))
      answered++
      if (answer.status !== 200 && answer.status !== 201) failed.push(`${answer.status} ${answer.text}`)
      await delay(40)
    }
  }
  const running = Promise.all([0, 1, 2, 3].map(one))
  return {
    stop: async () => {
      isStopped = true
      await running
      return { answered, failed }
    },
  }
}

for (const name of ['nginx', 'haproxy'] as const)
  test(`${name} with the configuration of the guide: sign-in, held polls, event streams, rolling restart`, {
    skip: without(name) || without('openssl'),
  }, async (t) => {
    const { ports, restartEach } = await startReplicas(t)
    const dispatcher = await startGuideProxy(t, name, ports)
    const target = { publicUrl: guideUrl, dispatcher }
    const { client } = await signIn({ baseUrl: guideUrl, username: 'admin', password: processPassword, dispatcher })
    const fast = 10_000_000
    await changeSecuritySettings(client, { api: { requests_per_minute_per_key: fast } })
    const { secret: key } = await client.createApiKey({ body: { name: 'guide', role: 'tenant_admin' } })

    await t.test('the audit log has the address of the client, not that of the proxy', async () => {
      const { items } = await client.listAuditEvents({ query: { kind: 'login.succeeded' } })
      assert.deepEqual([...new Set(items.map((event) => event.source_ip))], [clientAddress])
    })
    await t.test('a poll is held for longer than 60 seconds; an event arrives at once meanwhile', async () => {
      const { secret: token } = await client.generateToken({ body: {} })
      const polling = holdPoll(target, token)
      const latency = await streamLatency(dispatcher, key)
      // On a busy machine too: a proxy with a buffer waits for the comment that comes every 15 seconds.
      assert.ok(latency < 10_000, `${latency} ms`)
      const { status, seconds } = await polling
      t.diagnostic(`event after ${latency.toFixed(0)} ms, poll of ${seconds.toFixed(1)} s answered with ${status}`)
      assert.equal(status, 304)
      assert.ok(seconds > 60, `${seconds} s`)
    })
    await t.test('no request fails while each replica restarts', async () => {
      const load = startLoad(target, key)
      await restartEach()
      const { answered, failed } = await load.stop()
      t.diagnostic(`${answered} requests, ${failed.length} failed`)
      assert.deepEqual(failed.slice(0, 5), [])
      assert.ok(answered > 200)
    })
  })
