import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createProgram, freePort } from './program.ts'
import { commandOf } from './tools.ts'

/** A certificate and its key, PEM. */
type Shown = { spc: string; key: string }

const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${kind};`)

/**
 * Starts an nginx that requests client certificates. Each of the settings has its own port, and answers there with its
 * verdict.
 */
export async function startNginx(
  t: { after: (end: () => unknown) => void },
  { spc, key }: Shown,
  settings: readonly { anchor: string; lists?: string; ocsp?: string }[],
): Promise<number[]> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-nginx-'))
  const write = (name: string, text: string) => writeFileSync(join(directory, name), text)
  const ports = await Promise.all(settings.map(() => freePort()))
  // Clients do not verify the server's certificate.
  write('server.pem', spc)
  write('server.key', key)
  const servers = settings.map(({ anchor, lists, ocsp }, i) => {
    write(`anchor${i}`, anchor)
    if (lists) write(`lists${i}`, lists)
    return `server {
  listen 127.0.0.1:${ports[i]} ssl;
  ssl_certificate server.pem;
  ssl_certificate_key server.key;
  ssl_verify_client on;
  ssl_verify_depth 4;
  ssl_client_certificate anchor${i};
  ${lists ? `ssl_crl lists${i};` : ''}
  ${ocsp ? `ssl_ocsp leaf; ssl_ocsp_responder ${ocsp};` : ''}
  location / { return 200 $ssl_client_verify; }
}`
  })
  write(
    'nginx.conf',
    `daemon off; master_process off; pid nginx.pid; error_log nginx.log;
events {}
http { access_log off; ${temporary.join(' ')} ${servers.join('\n')} }`,
  )
  const { start, stop } = createProgram({
    name: 'nginx',
    command: commandOf('nginx'),
    args: ['-p', directory, '-e', 'nginx.log', '-c', 'nginx.conf'],
    log: join(directory, 'nginx.log'),
    answers: () => isOpen(ports[0]!),
    startsWithinMs: 30_000,
  })
  t.after(async () => {
    await stop()
    rmSync(directory, { recursive: true })
  })
  await start()
  return ports
}

function isOpen(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1')
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}

/** Sends a request with this client certificate and chain, and returns nginx's answer. */
export function show({ spc, key }: Shown, port: number, ...chain: string[]) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number | undefined; text: string }>()
  const tls = { cert: [spc, ...chain].join(''), key, rejectUnauthorized: false, agent: false }
  const asked = request({ host: '127.0.0.1', port, ...tls }, (response) => {
    let text = ''
    response.setEncoding('utf8').on('data', (some) => {
      text += some
    })
    response.on('end', () => resolve({ status: response.statusCode, text }))
  })
  asked.on('error', reject).end()
  return promise
}
