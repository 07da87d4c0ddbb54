import { byPlatform } from './enrollment-settings.ts'
import { defaultSecuritySettings } from './settings.ts'

/** Valid bodies of the endpoints that set up a tenant. */
export const settingsExamples = {
  updateSecuritySettings: {
    ...defaultSecuritySettings,
    sessions: { idle_seconds: 1234, absolute_seconds: 43_200 },
  },
  updateEnrollmentSettings: {
    install_templates: { ...byPlatform(() => null), linux: 'acme-vpn enroll {server} --token {token}' },
    download_urls: { ...byPlatform(() => null), linux: 'https://downloads.example.com/acme-vpn.deb' },
  },
  dismissStartStep: { step: 'audit_forwarding' as const },
}
