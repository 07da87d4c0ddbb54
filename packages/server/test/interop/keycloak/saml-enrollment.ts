import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { openProviderBrowser } from '../person.ts'
import { startSamlMachines } from '../saml-machines.ts'
import { passwordOf } from './realm.ts'
import { startFederatedBySaml } from './saml.ts'
import type { Keycloak } from './server.ts'

export async function enrollBySaml(t: TestContext, keycloak: Keycloak) {
  const { kit, realm, provider, acs_url: acsUrl } = await startFederatedBySaml(t, keycloak)
  const { provider_id } = provider
  const begin = await startSamlMachines(kit, { provider_id, issuer: realm.issuer, acsUrl })
  type Machine = Awaited<ReturnType<typeof begin>>
  /** Signs in at Keycloak, and returns the response that the machine receives. */
  async function signsIn(username: string, { redirectUrl, handOver }: Machine) {
    const { at, form } = await openProviderBrowser()(redirectUrl, { username, password: passwordOf(username) })
    assert.equal(at.href, acsUrl)
    return handOver(form ?? {})
  }

  const mine = await begin()
  const thief = await begin()
  const response = await signsIn('anna', mine)
  await assert.rejects(thief.finish(response), { status: 401 }, 'it answers the request of another device')
  const { shown, user } = await mine.finish(response)
  assert.deepEqual([user.username, user.source, shown.name], ['anna', 'sso', 'laptop'])
  await assert.rejects(mine.finish(response), { status: 401 }, 'one response, one device')

  const late = await begin()
  const signedBefore = await signsIn('ben', late)
  await realm.changeUser('ben', { enabled: false })
  assert.equal((await late.finish(signedBefore)).user.username, 'ben', 'what was signed before counts')
  const devices = (await kit.admin.listDevices()).items
  assert.equal(devices.length, 2)
}
