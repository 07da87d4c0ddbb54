import type { PolicyTest } from '@holdfast/contract/policy-document'
import { groupNames } from './directory.ts'

const healthy = { 'disk.encrypted': true, 'os.version': '15.0.1', 'custom.exempt': false }

/** Policy tests of the rules of the stable document, as a publisher would write them. */
export function tests(): PolicyTest[] {
  const own = groupNames.map((group, i): PolicyTest => {
    const other = groupNames[(i + 1) % groupNames.length]
    return {
      name: `${group} reaches its own application`,
      from: { group },
      allow: [`app-${group}:tcp/443`],
      deny: [`app-${other}:tcp/443`, `app-${group}:tcp/8443`],
    }
  })
  const sick = groupNames.map(
    (group): PolicyTest => ({
      name: `${group} reaches no vault from an unencrypted disk`,
      from: { group, posture: { ...healthy, 'disk.encrypted': false } },
      deny: [group === 'legal' ? 'bastion:tcp/22' : 'vault:tcp/8200'],
    }),
  )
  const night = '2026-03-04T22:00:00Z'
  return [
    ...own,
    ...sick,
    { name: 'makers push', from: { group: 'makers' }, allow: ['git:tcp/22'], deny: ['git:tcp/443'] },
    {
      name: 'a nested group reaches the vault',
      from: { group: 'data', platform: 'linux', posture: healthy },
      allow: ['vault:tcp/8200'],
    },
    {
      name: 'exempt devices do not',
      from: { group: 'data', posture: { ...healthy, 'custom.exempt': true } },
      deny: ['vault:tcp/8200'],
    },
    { name: 'no report, no vault', from: { group: 'security' }, deny: ['vault:tcp/8200'] },
    { name: 'quarantine reaches nothing', from: { tag: 'quarantine' }, deny: ['wiki:tcp/443', '10.1.0.1:tcp/443'] },
    { name: 'servers reach metrics', from: { tag: 'server' }, allow: ['metrics'] },
    { name: 'the watch by night', from: { group: 'support', at: night }, allow: ['bastion:tcp/22'] },
    { name: 'the watch by day', from: { group: 'support', at: '2026-03-04T12:00:00Z' }, deny: ['bastion:tcp/22'] },
    { name: 'sales at home', from: { group: 'sales', country: 'DE' }, allow: ['crm'] },
    { name: 'sales abroad', from: { group: 'sales', country: 'US' }, deny: ['crm'] },
    { name: 'support from the office', from: { group: 'support', source_ip: '192.0.2.7' }, allow: ['crm:tcp/443'] },
    { name: 'support from elsewhere', from: { group: 'support', source_ip: '198.51.100.7' }, deny: ['crm:tcp/443'] },
    { name: 'kiosks print', from: { tag: 'kiosk' }, allow: ['printers:tcp/9101'], deny: ['wiki:tcp/443'] },
    { name: 'legal with a second factor', from: { group: 'legal', mfa_age_seconds: 60 }, allow: ['vault:tcp/8200'] },
    { name: 'legal without', from: { group: 'legal' }, deny: ['vault:tcp/8200'] },
  ]
}
