import { formatWord } from '../../ui/format.ts'

/** Labels of fields whose name says too little. */
const labels: Readonly<Record<string, string>> = {
  id: 'Id',
  from: 'From',
  to: 'To',
  when: 'Conditions',
  via: 'Gateway pools',
  pool: 'Gateway pool',
  any: 'Every device',
  cidrs: 'Networks',
  dns: 'DNS names',
  mtu: 'MTU',
  log: 'Record connections',
  mfa_within_seconds: 'Second factor within',
  mfa_age_seconds: 'Age of the second factor',
  posture: 'Posture checks',
  countries: 'Countries',
  time: 'Time windows',
  expires_at: 'Ends at',
  freshness_seconds: 'Report not older than',
  source_ip: 'Source address',
  at: 'At',
}

export const labelOf = (field: string): string => labels[field] ?? formatWord(field)

/** Unit of a number, from its name. */
export const unitOf = (field: string): string | undefined => (field.endsWith('_seconds') ? 's' : undefined)

/** Part of a document, in the words of its tab. */
export const partWords = {
  rules: { tab: 'Rules', one: 'rule', add: 'Add rule' },
  resources: { tab: 'Resources', one: 'resource', add: 'Add resource' },
  hosts: { tab: 'Hosts', one: 'host', add: 'Add host' },
  groups: { tab: 'Groups', one: 'group', add: 'Add group' },
  posture_checks: { tab: 'Posture checks', one: 'posture check', add: 'Add posture check' },
  tests: { tab: 'Tests', one: 'test', add: 'Add test' },
  settings: { tab: 'Settings', one: 'setting', add: 'Change settings' },
} as const
export type EditedPart = keyof typeof partWords
export const editedParts = Object.keys(partWords) as EditedPart[]
