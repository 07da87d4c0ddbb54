import { setTimeout as delay } from 'node:timers/promises'
import { contract } from '@holdfast/contract'
import { createProof } from '@holdfast/crypto/dpop'
import { createAdmin, type DeviceState, enrollDevice } from '@holdfast/sdk'
import type { Postgres } from '../deployment/postgres.ts'
import { startStand } from '../deployment/stand.ts'
import { percentile } from '../sim/summary.ts'
import { type Ask, startLoad } from './load.ts'

type Options = {
  requests: number
  rate: number
  replicas: number
  abrupt: boolean
  balance?: Parameters<typeof startStand>[1]['balance']
}
const deviceCount = 40

/** Stops and starts every replica in turn until enough was sent; how many requests failed. */
export async function runRolling(postgres: Postgres, options: Options): Promise<number> {
  const { requests, rate, replicas, abrupt, balance } = options
  const stand = await startStand(postgres, { replicas, ...(balance && { balance }) })
  try {
    const apiKey = await stand.makeApiKey()
    const admin = createAdmin({ baseUrl: stand.url, apiKey })
    await admin.publishPolicy({ body: { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules: [] } } })
    const { secret: token } = await admin.generateToken({ body: { name: 'rolling', max_uses: 0 } })
    const devices: DeviceState[] = []
    for (let i = 0; i < deviceCount; i++) {
      const device = { name: `laptop-${i}`, platform: 'linux' as const }
      await enrollDevice({
        baseUrl: stand.url,
        token,
        device,
        store: { save: (state) => void devices.splice(i, 1, state) },
      })
    }
    const load = startLoad(stand.url, rate, await makeMix(stand.url, apiKey, devices))
    const ends: string[] = []
    try {
      await delay(10_000)
      do {
        for (const { replica } of stand.nodes) {
          const started = performance.now()
          const how = abrupt ? await replica.kill().then(() => 'SIGKILL') : await replica.terminate()
          const stopped = performance.now()
          ends.push(how)
          await replica.start()
          say(
            `${replica.name} ended with ${how} after ${seconds(stopped - started)}, ready again after ${seconds(performance.now() - stopped)}; ${load.sent()} sent, ${load.failures.length} failed`,
          )
          await delay(1_000)
        }
      } while (load.sent() < requests)
    } finally {
      await load.stop()
    }
    const kinds = Map.groupBy(load.failures, ({ what }) => what)
    say(`
requests                 ${load.sent()} (${load.reused()} on a connection used before)
failed                   ${load.failures.length}
longest answer           ${percentile(load.latencies, 1).toFixed(0)} ms (p50 ${percentile(load.latencies, 0.5).toFixed(1)}), held polls apart
restarts                 ${ends.length}, of which ended with 0: ${ends.filter((how) => how === '0').length}`)
    for (const [what, list] of kinds) say(`  ${list.length} × ${what}`)
    for (const [sentence, times] of await stand.errors()) say(`  ${times} × in a log: ${sentence}`)
    const wrongEnds = abrupt ? 0 : ends.filter((how) => how !== '0').length
    return load.failures.length + wrongEnds
  } finally {
    await stand.remove()
  }
}

const say = (text: string) => void process.stdout.write(`${text}\n`)
const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`

/**
 * The traffic of a fleet: of every twenty requests, sixteen are polls of devices (one of them held for some seconds),
 * three are reads and one is a write of an administrator.
 */
async function makeMix(url: string, apiKey: string, devices: readonly DeviceState[]): Promise<() => Ask> {
  let n = 0
  const asAdmin = { authorization: `Bearer ${apiKey}` }
  const poll = (extra: Record<string, string>): Ask => {
    const { privateJwk, credential } = devices[n % devices.length]!
    const { path } = contract.policyDigest
    const dpop = createProof(privateJwk!, { method: 'GET', url: url + path, accessToken: credential, now: new Date() })
    return {
      method: 'GET',
      path,
      headers: { authorization: `Bearer ${credential}`, dpop, ...extra },
      expect: [200, 304],
    }
  }
  const first = await fetch(url + contract.policyDigest.path, { headers: poll({}).headers })
  const held = { prefer: 'wait=6', 'if-none-match': first.headers.get('etag') ?? '' }
  return () => {
    const kind = n++ % 20
    if (kind < 15) return poll({})
    if (kind < 16) return { ...poll(held), isHeld: true }
    if (kind < 18) return { method: 'GET', path: contract.me.path, headers: asAdmin, expect: [200] }
    if (kind < 19)
      return { method: 'GET', path: `${contract.listDevices.path}?limit=20`, headers: asAdmin, expect: [200] }
    const user = { username: `rolling-${n}`, email: `rolling-${n}@corp.example` }
    const body = JSON.stringify({ operation: 'create', user })
    const headers = {
      ...asAdmin,
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    }
    return { method: 'POST', path: contract.changeUser.path, headers, body, expect: [200, 201] }
  }
}
