import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { trySignIn } from '../../support/actors/people.ts'
import { openBrowser } from '../../support/clients/browser.ts'
import { adminPassword } from '../../support/deployment/deployment.ts'
import { enrollsLaptop } from './enrollment.ts'
import { type Federated, startFederated } from './federated.ts'
import { passwordOf } from './realm.ts'
import type { Keycloak } from './server.ts'

/** Asserts that the local administrator's password works, and that a password of the provider's user does not. */
async function passwordsAreAsBefore({ kit }: Federated) {
  assert.equal((await trySignIn(kit, 'anna', { password: passwordOf('anna') })).status, 401)
  assert.equal((await trySignIn(kit, 'admin', { password: adminPassword })).status, 200)
}

export async function newKeys(t: TestContext, keycloak: Keycloak) {
  const federated = await startFederated(t, keycloak)
  const { kit, realm, signIn } = federated
  assert.equal((await signIn('anna')).who, 'anna')
  const laptop = await enrollsLaptop(federated)
  const byFirstKey = await laptop.signsIn('anna')

  await realm.addKey()
  assert.equal((await signIn('anna')).who, 'anna', 'an unknown key is looked for')
  await realm.removeFirstKey()
  // The keys are fetched again by a test of the provider, or after an hour.
  await kit.admin.testIdentityProvider({ params: federated.params })
  assert.equal((await signIn('ben')).who, 'ben')
  await assert.rejects(byFirstKey.enrolls(), { status: 401 })
  const { items } = await kit.admin.listAuditEvents({ query: { kind: 'device.enrollment_refused', limit: 1 } })
  assert.deepEqual(
    items.map((event) => 'reason' in event && event.reason),
    ['keys'],
  )
  const next = await (await enrollsLaptop(federated)).signsIn('anna')
  assert.equal((await next.enrolls()).user.username, 'anna')
}

export async function realmTurnedOff(t: TestContext, keycloak: Keycloak) {
  const federated = await startFederated(t, keycloak)
  const { realm, away, signIn, reasons } = federated
  const back = await away('anna')
  await realm.change({ enabled: false })
  assert.equal((await back.browser.get(back.path)).status, 401)
  assert.deepEqual(await reasons(), ['keycloak:code'])
  assert.equal((await away('ben')).at.origin, keycloak.url, 'Keycloak lets nobody in')
  await passwordsAreAsBefore(federated)
  await realm.change({ enabled: true })
  await untilSignsIn(signIn)
}

export async function stoppedAndStarted(t: TestContext, keycloak: Keycloak) {
  const federated = await startFederated(t, keycloak)
  const { kit, params, start, away, signIn, reasons } = federated
  assert.equal((await signIn('anna')).who, 'anna')
  const back = await away('anna')
  await keycloak.stop()
  const asked = performance.now()
  assert.equal((await back.browser.get(back.path)).status, 401)
  assert.ok(performance.now() - asked < 10_000)
  assert.deepEqual(await reasons(), ['keycloak:unreachable'])
  const tested = await kit.admin.testIdentityProvider({ params })
  assert.deepEqual([tested.ok, tested.problem?.reason], [false, 'unreachable'])
  // A replica that has not read the provider's metadata can't redirect a browser there.
  const stranger = await kit.startReplica()
  assert.equal((await openBrowser(stranger).get(start)).status, 401)
  await passwordsAreAsBefore(federated)
  await keycloak.start()
  await untilSignsIn(signIn)
}

/** Retries, since a failure is cached for five seconds. */
async function untilSignsIn(signIn: Federated['signIn']): Promise<void> {
  const giveUp = performance.now() + 20_000
  for (;;) {
    const { answer, who } = await signIn('anna')
    if (who === 'anna') return
    assert.ok(performance.now() < giveUp, answer.text)
    await delay(500)
  }
}
