import assert from 'node:assert/strict'
import { beginSamlEnrollment } from '@holdfast/sdk'
import { openBrowser } from '../support/clients/browser.ts'
import type { Kit } from '../support/deployment/deployment.ts'

const redirectUri = 'http://127.0.0.1:4711/callback'
const device = { name: 'laptop', platform: 'linux' } as const

/** Starts enrollments of machines through a SAML provider, each with its own request and key. */
export async function startSamlMachines(kit: Kit, provider: { provider_id: string; issuer: string; acsUrl: string }) {
  const { provider_id, issuer, acsUrl } = provider
  const { secret: credential } = await kit.admin.generateToken({ body: { kind: 'bootstrap', max_uses: 0 } })
  const { publicUrl: baseUrl, dispatcher } = kit

  return async () => {
    const { providers, begin } = await beginSamlEnrollment({ baseUrl, credential, dispatcher })
    assert.deepEqual(
      providers.map((p) => [p.provider_id, p.issuer]),
      [[provider_id, issuer]],
    )
    const { redirectUrl, requestId, finish } = await begin({ provider_id, redirectUri })
    return {
      redirectUrl,
      /** Posts the form to our page and returns the SAML response that the page hands to the machine. */
      handOver: async (form: Record<string, string>): Promise<string> => {
        const page = await openBrowser(kit).post(new URL(acsUrl).pathname, form)
        assert.equal(page.status, 200, page.text)
        assert.ok(page.text.includes(`<form method="post" action="${redirectUri}">`), page.text)
        const field = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(page.text)?.[1] ?? ''
        assert.equal(field('RelayState'), requestId)
        return field('SAMLResponse')
      },
      finish: async (saml_response: string) => {
        const { state } = await finish({ saml_response, device })
        const shown = await kit.admin.getDevice({ params: { device_id: state.deviceId } })
        const { provider_name, ...enrolledBy } = shown.enrolled_by
        assert.deepEqual(enrolledBy, { method: 'saml', token_id: null, token_name: null, provider_id })
        assert.ok(provider_name)
        const user = await kit.admin.getUser({ params: { user_id: String(shown.user_id) } })
        return { shown, user }
      },
    }
  }
}
