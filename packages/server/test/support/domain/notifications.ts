import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { ApiError, changeNotificationSettings } from '@holdfast/sdk'
import type { Notice } from '../../../src/modules/notifications/index.ts'
import { type Kit, runJob } from '../deployment/deployment.ts'

export const notice = (more: Partial<Notice> = {}): Notice => ({
  kind: 'account.locked',
  severity: 'warning',
  title: 'The account of bob is locked',
  detail: 'Ten sign-ins in a row failed. It opens again by itself in 15 minutes.',
  subject: { type: 'user', id: 'usr_01jxz3c9dqf7vr2m8k4s6t0b5w', name: 'bob' },
  ...more,
})
export const raise = (kit: Kit, more: Partial<Notice> = {}) =>
  kit.app.db.inTenant(kit.tenant, (tx) => kit.app.notifications.notify(tx, kit.tenant, notice(more)))
export const inbox = async (kit: Kit, query: { state?: 'open' | 'acknowledged' | 'all' } = {}) =>
  (await kit.admin.listNotifications({ query })).items
export const run = (kit: Kit, name: string) => runJob(kit.app, name)
export const refusedWith = (status: number, about: RegExp) => (e: unknown) =>
  e instanceof ApiError && e.status === status && about.test(e.message)

export type Posted = { headers: IncomingHttpHeaders; body: string }
/** A webhook receiver that answers with these statuses in turn, and then with the last of them. */
export async function startReceiver(t: TestContext, ...statuses: number[]) {
  const posted: Posted[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    posted.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
    const status = statuses.length > 1 ? statuses.shift()! : statuses[0]!
    response.writeHead(status, { location: 'http://127.0.0.1:1/elsewhere' }).end('x'.repeat(200_000))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/path-that-is-a-secret`, posted }
}
export const opened = { allowedPrivateCidrs: ['127.0.0.0/8'] }
export const enableWebhook = async (kit: Kit, url: string) => {
  const { secret } = await changeNotificationSettings(kit.admin, { webhook: { enabled: true, url } })
  return secret!
}
