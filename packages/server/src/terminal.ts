import type { AddressInfo } from 'node:net'
import type { FirstStart } from './app/bootstrap.ts'
import { type Config, hostInUrl, isEveryAddress } from './config/config.ts'

/** Secrets are printed to the terminal at the first start only, never to the log. */
export function printFirstStart({ username, password, generated }: FirstStart, config: Config): void {
  const lines = [
    '',
    '  First start: tenant "default" and its administrator were created.',
    `    username  ${username}`,
    `    password  ${generated ? `${password}   (shown once; keep it)` : 'as set in HOLDFAST_ADMIN_PASSWORD'}`,
    `    keys and database  ${config.dataDir}`,
    '',
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

export function printReady(config: Config, addresses: (AddressInfo | string)[]): void {
  const at = addresses
    .map((a) => (typeof a === 'string' ? a : `${a.family === 'IPv6' ? `[${a.address}]` : a.address}:${a.port}`))
    .join(', ')
  process.stdout.write(`  Holdfast listens on ${at}; sign in at ${config.publicUrl}/admin/login\n`)
  if (!config.publicUrlIsSet && isEveryAddress(config.host))
    process.stdout.write(
      `  Warning: HOLDFAST_HOST ${config.host} accepts connections from other machines, but HOLDFAST_PUBLIC_URL is not set: users can sign in, and devices can enroll, on this machine only. Set HOLDFAST_PUBLIC_URL to the address that others use, such as https://vpn.example.com.\n`,
    )
  if (config.metrics)
    process.stdout.write(`  Metrics are served on ${hostInUrl(config.metrics.host)}:${config.metrics.port}/metrics\n`)
  if (config.pki) process.stdout.write(`  CRLs and OCSP for certificates are served at ${config.pki.url}\n`)
}

/** Reports that a start waits for the database: one line per cause, however often it retries. */
export function createWaitingNotice(): (e: unknown) => void {
  let last: string | undefined
  return (e) => {
    const { message, code } = e as NodeJS.ErrnoException
    const why = (message || code || 'no answer').replace(/\s+/g, ' ')
    if (why === last) return
    last = why
    process.stdout.write(`  Waiting for the database: ${why}\n`)
  }
}
