import { createPrivateKey } from 'node:crypto'
import { createProof } from '@holdfast/crypto/dpop'
import { serveCalls } from './calls.ts'
import { type Connection, openConnection } from './http-connection.ts'
import { rawRequest } from './requests.ts'

export type WaitingDevice = { credential: string; privateKey: string }
type Wanted = { port: number; url: string; path: string; seconds: number; devices: WaitingDevice[] }
const clock = () => Number(process.hrtime.bigint()) / 1e6

let connections: Connection[] = []
let isOver = false
let changed = new Set<number>()
let lastAt = 0
const counts = { unchanged: 0, changed: 0, other: 0 }

/** Devices with keys. Each has one request open at all times, which the server holds until its policy changes. */
async function start({ port, url, path, seconds, devices }: Wanted): Promise<void> {
  for (let from = 0; from < devices.length; from += 100)
    await Promise.all(devices.slice(from, from + 100).map((device, i) => startOne(device, from + i)))

  async function startOne({ credential, privateKey }: WaitingDevice, index: number): Promise<void> {
    const key = createPrivateKey(privateKey)
    let etag = ''
    // The first waits have different lengths, so that their ends are spread.
    let wait = Math.ceil(((index + 1) / devices.length) * seconds)
    const ask = () => {
      if (isOver) return
      const dpop = createProof(key, { method: 'GET', url: url + path, accessToken: credential, now: new Date() })
      const held = etag && { prefer: `wait=${wait}`, 'if-none-match': etag }
      connection.send(rawRequest('GET', path, { authorization: `Bearer ${credential}`, dpop, ...held }))
    }
    const first = Promise.withResolvers<void>()
    const connection = await openConnection(
      { port },
      (status, raw) => {
        if (status === 200) {
          ;[, etag = ''] = /\r\netag: ([^\r]+)/i.exec(raw.toString('latin1', 0, 2_000)) ?? []
          changed.add(index)
          lastAt = clock()
          counts.changed++
        } else if (status === 304) {
          counts.unchanged++
          wait = seconds
        } else counts.other++
        first.resolve()
        if (status === 200 || status === 304) ask()
        else setTimeout(ask, 1_000)
      },
      () => {
        counts.other++
        first.resolve()
      },
    )
    connections.push(connection)
    ask()
    await first.promise
  }
}

const calls = {
  start,
  /** Restarts the count of devices whose policy changed. */
  forget: (_: null): void => {
    changed = new Set()
    lastAt = 0
  },
  changed: (_: null): { devices: number; lastAt: number } => ({ devices: changed.size, lastAt }),
  counts: (_: null): typeof counts => ({ ...counts }),
  stop: (_: null): void => {
    isOver = true
    for (const connection of connections) connection.end()
    connections = []
  },
}
export type DevicesCalls = typeof calls
serveCalls(calls)
