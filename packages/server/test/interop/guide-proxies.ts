import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Agent, buildConnector } from 'undici'
import { createProgram, freePort } from './program.ts'
import { commandOf, runTool } from './tools.ts'

const folderOfGuide = join(import.meta.dirname, '../../../../docs/deploy')
export const guideUrl = 'https://vpn.example.com'
/** An address of clients that is not the proxy's. */
export const clientAddress = '127.0.0.9'

/** Replaces each text of a file of the guide. A text that the file lacks fails the test. */
function adapted(file: string, changes: Record<string, string>): string {
  let text = readFileSync(join(folderOfGuide, file), 'utf8')
  for (const [from, to] of Object.entries(changes)) {
    assert.ok(text.includes(from), `${file} lacks ${from}`)
    text = text.replaceAll(from, to)
  }
  return text
}

/**
 * Starts a proxy with the configuration of the deployment guide: only addresses and paths of files are others. Returns
 * a dispatcher of clients of the public URL.
 */
export async function startGuideProxy(t: TestContext, name: 'nginx' | 'haproxy', [one, two]: [number, number]) {
  const folder = mkdtempSync(join(tmpdir(), `holdfast-guide-${name}-`))
  const write = (file: string, text: string) => writeFileSync(join(folder, file), text)
  const port = await freePort()
  const certificate = ['-subj', '/CN=vpn.example.com', '-addext', 'subjectAltName=DNS:vpn.example.com']
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'key.pem']
  const made = await runTool('openssl', ['req', '-x509', ...key, ...certificate, '-out', 'cert.pem'], { cwd: folder })
  assert.equal(made.status, 0, made.stderr)
  const pem = (file: string) => readFileSync(join(folder, file), 'utf8')
  write('haproxy.pem', pem('cert.pem') + pem('key.pem'))
  const replicas = { '127.0.0.1:8080': `127.0.0.1:${one}`, '10.0.0.12:8080': `127.0.0.1:${two}` }
  const files = {
    '/etc/ssl/holdfast/fullchain.pem': join(folder, 'cert.pem'),
    '/etc/ssl/holdfast/privkey.pem': join(folder, 'key.pem'),
  }
  if (name === 'nginx') {
    write('holdfast.conf', adapted('nginx.conf', { ...replicas, ...files, 'listen 443': `listen 127.0.0.1:${port}` }))
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${kind};`)
    write(
      'nginx.conf',
      `daemon off; master_process off; pid nginx.pid; error_log nginx.log;
events { worker_connections 1024; }
http { access_log off; ${temporary.join(' ')} include holdfast.conf; }`,
    )
  } else {
    const own = { '/etc/ssl/holdfast/haproxy.pem': join(folder, 'haproxy.pem'), 'bind :443': `bind 127.0.0.1:${port}` }
    write('haproxy.cfg', adapted('haproxy.cfg', { ...replicas, ...own, 'maxconn 50000': 'maxconn 1000' }))
  }
  const { start, stop } = createProgram({
    name,
    command: commandOf(name),
    args:
      name === 'nginx'
        ? ['-p', folder, '-e', 'nginx.log', '-c', 'nginx.conf']
        : ['-db', '-f', join(folder, 'haproxy.cfg')],
    log: join(folder, `${name}.log`),
    answers: () => isOpen(port),
    startsWithinMs: 30_000,
  })
  const connector = buildConnector({ ca: pem('cert.pem'), servername: 'vpn.example.com' })
  const there = { hostname: '127.0.0.1', port: String(port), localAddress: clientAddress }
  const dispatcher = new Agent({ connect: (options, callback) => connector({ ...options, ...there }, callback) })
  t.after(async () => {
    await dispatcher.destroy()
    await stop()
    rmSync(folder, { recursive: true })
  })
  await start()
  return dispatcher
}

function isOpen(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, '127.0.0.1')
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  return promise.finally(() => socket.destroy())
}
