import { spawn } from 'node:child_process'
import { rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd } from '../deployment/at-end.ts'
import { freePort } from '../deployment/ports.ts'

/** HAProxy in front of these ports as an operator sets it up: HTTP, keep-alive, checks on /readyz. */
export async function startHaproxy(ports: readonly number[]): Promise<{ url: string; close: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-haproxy-'))
  const port = await freePort()
  const config = `
global
  maxconn 4000
defaults
  mode http
  timeout connect 2s
  timeout check 1s
  timeout client 90s
  timeout server 90s
  option http-keep-alive
frontend holdfast
  bind 127.0.0.1:${port}
  default_backend replicas
backend replicas
  balance roundrobin
  option httpchk GET /readyz
  option redispatch 1
  retries 3
  default-server check inter 200ms fall 3 rise 1
${ports.map((each, i) => `  server r${i} 127.0.0.1:${each}`).join('\n')}
`
  const file = join(folder, 'haproxy.cfg')
  await writeFile(file, config)
  const child = spawn('haproxy', ['-db', '-f', file], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` },
  })
  const ended = new Promise<void>((resolve, reject) => child.once('error', reject).once('exit', () => resolve()))
  ended.catch(() => {})
  const removeFiles = () => rmSync(folder, { recursive: true, force: true })
  const forget = atEnd(() => {
    child.kill('SIGKILL')
    removeFiles()
  })
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      child.kill('SIGTERM')
      await ended
      forget()
      removeFiles()
    },
  }
}
