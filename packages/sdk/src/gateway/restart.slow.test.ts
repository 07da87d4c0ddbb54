import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { contentFor, createIssuer, digestOf, peerOf } from '../../test/support/issuer.ts'

const lifetimeMs = 8000
const content = contentFor('a')
const variant = digestOf(content)

/** A control plane that stops and restarts on the same port. Its policies are valid for some seconds. */
async function startControl(t: TestContext) {
  const issuer = createIssuer()
  const trust = await issuer.trustSet()
  const issued: { expiresAt: number }[] = []
  const answer = async (url: URL) => {
    if (url.pathname.endsWith('/trust-anchors')) return trust
    const since = url.searchParams.get('since')
    if (since === null || Number(since) < 2) {
      const expiresAt = Date.now() + lifetimeMs
      issued.push({ expiresAt })
      const more = { expires_at: new Date(expiresAt).toISOString(), variants: { [variant]: content } }
      const policy = await issuer.gatewayPolicy(
        since === null
          ? { ...more, seq: 1, peers: [peerOf('dev_1', variant), peerOf('dev_2', variant)] }
          : {
              ...more,
              kind: 'delta',
              base_seq: 1,
              seq: 2,
              peers: [peerOf('dev_3', variant)],
              removed_peers: ['dev_1'],
            },
      )
      return { kind: '', seq: 0, base_seq: null, policy, poll_seconds: 1 }
    }
    const expiresAt = Date.now() + lifetimeMs
    const policy = await issuer.gatewayPolicy({
      kind: 'delta',
      base_seq: 2,
      seq: 2,
      peers: [],
      expires_at: new Date(expiresAt).toISOString(),
    })
    // It sends one delta before it stops, so that the end is known.
    if (!isBack) await delay(20_000, undefined, { ref: false })
    return { kind: '', seq: 0, base_seq: null, policy, poll_seconds: 1 }
  }
  let isAway = false
  let isBack = false
  const server = createServer(async (request, response) => {
    const body = JSON.stringify(await answer(new URL(request.url ?? '/', 'http://localhost')))
    response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  })
  server.on('connection', (socket) => void (isAway && socket.resetAndDestroy()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    issued,
    tenantId: issuer.tenantId,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    goAway: () => {
      isAway = true
      server.closeAllConnections()
    },
    comeBack: () => {
      isAway = false
      isBack = true
    },
  }
}

type Said = { at: number; kind?: string; status?: string; seq?: number; peers?: string[] }

function startGateway(t: TestContext, args: string[]) {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('../../test/support/gateway-process.ts', import.meta.url)), ...args],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  t.after(() => child.kill('SIGKILL'))
  const said: Said[] = []
  const woken = new Set<() => void>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    said.push(JSON.parse(line))
    for (const wake of woken) wake()
  })
  return {
    kill: async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
    /** Returns the first past or future output line that matches. */
    until: async (isIt: (one: Said) => boolean): Promise<Said> => {
      for (;;) {
        const found = said.find(isIt)
        if (found) return found
        await new Promise<void>((resolve) => {
          woken.add(resolve)
        })
      }
    },
  }
}

test('killed and started again in an outage: the same peers, cut at the end of the policy, back after the outage', {
  timeout: 120_000,
}, async (t) => {
  const control = await startControl(t)
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-gateway-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const args = [control.baseUrl, control.tenantId, join(folder, 'state')]
  const first = startGateway(t, args)
  const before = await first.until(({ seq }) => seq === 2)
  assert.deepEqual(before.peers, ['dev_2', 'dev_3'])
  control.goAway()
  await first.kill()

  const second = startGateway(t, args)
  const restored = await second.until(({ kind }) => kind !== undefined)
  assert.deepEqual([restored.kind, restored.seq, restored.peers], ['snapshot', 2, before.peers])
  const end = control.issued.at(-1)?.expiresAt ?? 0
  assert.ok(restored.at < end, `restored ${end - restored.at} ms before the end`)
  const cut = await second.until(({ kind }) => kind === 'expired')
  assert.deepEqual(cut.peers, [])
  assert.ok(cut.at >= end - 20 && cut.at < end + 10_000, `cut ${cut.at - end} ms after the end`)

  control.comeBack()
  const up = Date.now()
  const back = await second.until(({ peers, at }) => at > cut.at && peers?.length === 2)
  assert.deepEqual(back.peers, before.peers)
  assert.ok(back.at - up < 60_000, `back after ${back.at - up} ms`)
  t.diagnostic(
    `restored ${end - restored.at} ms before the end, cut ${cut.at - end} ms after it, back after ${back.at - up} ms`,
  )
})
