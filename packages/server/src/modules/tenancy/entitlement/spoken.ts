import type { EntitlementMetric } from '@holdfast/contract/vocabulary'

/** Name of each metric at the beginning of a sentence. */
export const spokenOf: Record<EntitlementMetric, string> = {
  users: 'Users',
  devices: 'Devices',
  gateways: 'Gateways',
  sessions: 'VPN sessions',
  api_keys: 'API keys',
  bandwidth_gb_month: 'GB this month',
}
