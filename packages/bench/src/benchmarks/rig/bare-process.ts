import { generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveCalls } from './calls.ts'
import type { RawAnswer } from './requests.ts'

/** The limit of the platform: `node:http` that answers with given bytes, and ES256 alone. */
let answer: RawAnswer = { status: 204, headers: [], body: new Uint8Array() }
const held: ServerResponse[] = []

const server = createServer({ keepAliveTimeout: 72_000, requestTimeout: 0 }, (request, response) => {
  if (request.url === '/held') held.push(response)
  else respond(response)
})

function respond(response: ServerResponse): void {
  response.writeHead(answer.status, answer.headers)
  response.end(answer.status === 304 ? undefined : answer.body)
}

const calls = {
  /** Sets the answer to all requests from now on; requests to `/held` get it when `broadcast` is called. */
  serve: async (next: RawAnswer): Promise<{ port: number }> => {
    answer = next
    if (!server.listening)
      await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, resolve))
    return { port: (server.address() as AddressInfo).port }
  },
  held: (_: null): number => held.length,
  broadcast: (_: null): number => {
    const now = held.splice(0)
    for (const response of now) respond(response)
    return now.length
  },
  /** ES256 verifications per second, of signatures over 300 bytes as in a proof. */
  verify: ({ seconds }: { seconds: number }): number => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const dsaEncoding = 'ieee-p1363'
    const messages = Array.from({ length: 64 }, () => randomBytes(300))
    const signed = messages.map((m) => ({ m, s: sign('sha256', m, { key: privateKey, dsaEncoding }) }))
    const key = { key: publicKey, dsaEncoding } as const
    const started = performance.now()
    let count = 0
    while (performance.now() - started < seconds * 1000)
      for (const { m, s } of signed) {
        if (!verify('sha256', m, key, s)) throw new Error('a signature does not hold')
        count++
      }
    return count / ((performance.now() - started) / 1000)
  },
  /** ES256 verifications per second, each with a key that was not seen before. */
  verifyNew: ({ seconds }: { seconds: number }): number => {
    const message = randomBytes(300)
    const signed = Array.from({ length: 512 }, () => {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      return { key: publicKey.export({ type: 'spki', format: 'pem' }), s: sign('sha256', message, privateKey) }
    })
    const started = performance.now()
    let count = 0
    while (performance.now() - started < seconds * 1000)
      for (const { key, s } of signed) {
        if (!verify('sha256', message, key, s)) throw new Error('a signature does not hold')
        count++
      }
    return count / ((performance.now() - started) / 1000)
  },
  /** ES256 signatures per second, over as many bytes as a certificate has. */
  sign: ({ seconds }: { seconds: number }): number => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const message = randomBytes(600)
    const started = performance.now()
    let count = 0
    while (performance.now() - started < seconds * 1000)
      for (let i = 0; i < 64; i++, count++) sign('sha256', message, privateKey)
    return count / ((performance.now() - started) / 1000)
  },
}
export type BareCalls = typeof calls
serveCalls(calls)
