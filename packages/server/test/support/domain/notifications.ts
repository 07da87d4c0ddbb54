import { changeNotificationSettings } from '@holdfast/sdk'
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
export const raiseNotice = (kit: Kit, more: Partial<Notice> = {}) =>
  kit.app.db.inTenant(kit.tenant, (tx) => kit.app.notifications.notify(tx, kit.tenant, notice(more)))
export const inbox = async (kit: Kit, query: { state?: 'open' | 'acknowledged' | 'all' } = {}) =>
  (await kit.admin.listNotifications({ query })).items
export const runJobOf = (kit: Kit, name: string) => runJob(kit.app, name)
export const enableWebhook = async (kit: Kit, url: string) => {
  const { secret } = await changeNotificationSettings(kit.admin, { webhook: { enabled: true, url } })
  return secret!
}
