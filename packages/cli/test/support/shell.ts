import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import { runCli } from '../../src/program.ts'

export type Asked = { line: string; headers: IncomingHttpHeaders; body: unknown }
export type Answered = { status?: number; headers?: Record<string, string>; body: unknown }

/** Starts a server on loopback that gives the test's answers and records the requests. */
export async function startServer(t: TestContext, answer: (asked: Asked) => Answered) {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const text = Buffer.concat(chunks).toString()
    const one = { line: `${request.method} ${request.url}`, headers: request.headers, body: text && JSON.parse(text) }
    asked.push(one)
    const { status = 200, headers, body } = answer(one)
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** Creates a home directory, and a function that runs command lines in it. */
export async function startShell(t: TestContext, defaults: Record<string, string> = {}) {
  const home = await mkdtemp(join(tmpdir(), 'holdfast-cli-'))
  t.after(() => rm(home, { recursive: true, force: true }))
  const run = async (
    args: string[],
    {
      stdin = '',
      env = {},
      terminal = false,
    }: { stdin?: string; env?: Record<string, string>; terminal?: boolean } = {},
  ) => {
    const collect = () => {
      const chunks: string[] = []
      const write = (chunk: unknown, _encoding: string, done: () => void) => {
        chunks.push(String(chunk))
        done()
      }
      return { stream: Object.assign(new Writable({ write }), { isTTY: terminal }), text: () => chunks.join('') }
    }
    const [out, err] = [collect(), collect()]
    const input = new PassThrough()
    input.end(stdin)
    const streams = { input, output: out.stream, errors: err.stream, env: { HOME: home, ...defaults, ...env } }
    return { code: await runCli(args, streams), out: out.text(), err: err.text() }
  }
  return { home, run }
}

export const login: Answered = {
  headers: { 'set-cookie': 'holdfast_session=s3cret; HttpOnly; Path=/' },
  body: { user: { user_id: 'usr_1', username: 'admin', tenant_id: 'tnt_1' }, expires_at: '2030-01-01T00:00:00.000Z' },
}
export const person = { credential: 'session', tenant_id: 'tnt_1', roles: ['platform_admin'] }
