import type { EntitlementMetric } from '@holdfast/contract/vocabulary'

/** What a plan limits, at the beginning of a sentence. */
export const spokenOf: Record<EntitlementMetric, string> = {
  users: 'Users',
  devices: 'Devices',
  gateways: 'Gateways',
  sessions: 'VPN sessions',
  api_keys: 'API keys',
  bandwidth_gb_month: 'GB this month',
}
