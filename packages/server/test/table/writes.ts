import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Operation } from '@holdfast/contract'
import { examples } from '@holdfast/contract/examples'
import { enrollmentNonce, generateKey, thumbprint } from '@holdfast/crypto'
import { changeSecuritySettings } from '@holdfast/sdk'
import { requestChallenge } from '../support/actors/devices.ts'
import { createAuthenticator, enrollFactor, makeUser, signInAs, trySignIn } from '../support/actors/people.ts'
import { makeSampleObjects, type ObjectKind } from '../support/actors/sample-objects.ts'
import { bearer, type Caller, call, deviceCaller, operation } from '../support/clients/api-calls.ts'
import { adminPassword, type Kit } from '../support/deployment/deployment.ts'
import { exampleBody, fillPath, objectKindsIn } from '../support/domain/example-requests.ts'
import { startDirectoryServer } from '../support/providers/directory-server.ts'
import { directoryUser, snapshotOf } from '../support/providers/directory-snapshots.ts'
import { startHostileProvider } from '../support/providers/hostile-oidc-provider.ts'
import { gatewayWrites } from './gateway-writes.ts'
import type { Here } from './here.ts'
import { answeredMachine, samlMachine } from './saml-machine.ts'
import { tenancyWrites } from './tenancy-writes.ts'
import { trustWrites } from './trust-writes.ts'
import { updateWrites } from './update-writes.ts'
import { workflowWrites } from './workflow-writes.ts'

type Example = { caller: Caller; path?: Record<string, string>; body?: unknown; query?: string }
export type Setup = (kit: Kit, world: Here) => Promise<Example> | Example
/** The contract's example of the body, sent by an administrator. The table grows with the contract. */
const standard =
  (name: Operation): Setup =>
  (_, world) => ({ caller: world.callers.api_key, body: exampleBody(name, world.own.ids) })

/** A search that finds each entry of the directory. */
const everything = { schemas: examples.searchScim.schemas, count: 10 }

/** The caller of a write that requires `If-Match`. */
export const withAnyVersion =
  (caller: Caller): Caller =>
  (method, url) => ({ ...caller(method, url), 'if-match': '*' })

/** Writes that need more objects first, or a caller other than an administrator. */
const special: Partial<Record<Operation, Setup>> = {
  ...tenancyWrites,
  ...gatewayWrites,
  ...trustWrites,
  ...updateWrites,
  ...workflowWrites,
  updatePolicyDraft: (_, world) => ({
    caller: withAnyVersion(world.callers.api_key),
    body: examples.updatePolicyDraft,
  }),
  createSiemConnector: (_, world) => ({
    caller: world.callers.api_key,
    body: { ...examples.createSiemConnector, name: `siem-${randomBytes(6).toString('hex')}` },
  }),
  updateSiemConnector: (_, world) => ({
    caller: world.callers.api_key,
    body: { ...examples.updateSiemConnector, name: `siem-${randomBytes(6).toString('hex')}` },
  }),
  // The next event of a disabled connector is that of its own creation.
  setAsideSiemEvent: async (kit, world) => {
    const { connector_id } = world.own.ids
    // This read makes the events get their sequence numbers.
    await kit.admin.listAuditEvents({ query: { limit: 1 } })
    const { delivered_seq } = (await kit.admin.getSiemConnector({ params: { connector_id } })).delivery
    return { caller: world.callers.api_key, body: { seq: delivered_seq + 1 } }
  },
  revokeApiKeysOfUser: async (kit, world) => {
    const account = { username: `program-${randomBytes(6).toString('hex')}`, kind: 'service' } as const
    const { user } = await kit.admin.changeUser({ body: { operation: 'create', user: account } })
    const { user_id } = user
    await kit.admin.grantRole({ body: { user_id, role: 'viewer' } })
    await kit.admin.createApiKey({ body: { name: account.username, role: 'viewer', user_id } })
    return { caller: world.callers.api_key, body: { user_id } }
  },
  login: () => ({ caller: () => ({}), body: { username: 'admin', password: adminPassword } }),
  logout: (_, world) => ({ caller: world.callers.session }),
  reactivateUser: async (kit, world) => {
    await kit.admin.suspendUser({ body: { user_id: world.own.ids.user_id } })
    return { caller: world.callers.api_key, body: { user_id: world.own.ids.user_id } }
  },
  unlockUser: async (kit, world) => {
    const { user_id } = world.own.ids
    const { username } = await kit.admin.getUser({ params: { user_id } })
    const threshold = (lockout_threshold: number) => changeSecuritySettings(kit.admin, { login: { lockout_threshold } })
    await threshold(1)
    await trySignIn(kit, username, { password: 'wrong' })
    await threshold(10)
    return { caller: world.callers.api_key, body: { user_id } }
  },
  // Merged with the current settings: the rates of the contract's example would slow down the other rows.
  updateSecuritySettings: async (kit, world) => {
    const { sessions, ...others } = await kit.admin.getSecuritySettings()
    return { caller: world.callers.api_key, body: { ...others, sessions: { ...sessions, idle_seconds: 1234 } } }
  },
  verifyTotp: async (kit, world) => {
    const { user_id } = world.own.ids
    const { secret } = await kit.admin.enrollTotp({ body: { user_id } })
    return { caller: world.callers.api_key, body: { user_id, code: createAuthenticator(secret).code() } }
  },
  disableTotp: async (kit, world) => {
    const { user_id } = world.own.ids
    const { secret } = await kit.admin.enrollTotp({ body: { user_id } })
    await kit.admin.verifyTotp({ body: { user_id, code: createAuthenticator(secret).code() } })
    return { caller: world.callers.api_key, body: { user_id } }
  },
  stepUp: async (kit) => {
    await makeUser(kit, 'with-a-factor')
    const { person, app } = await enrollFactor(kit, 'with-a-factor')
    return { caller: () => ({ cookie: person.cookie(), origin: kit.publicUrl }), body: { code: app.code(1) } }
  },
  endAdminSession: async (kit, world) => {
    await makeUser(kit, 'signed-in')
    const me = await (await signInAs(kit, 'signed-in')).get('/v1/admin/me')
    return { caller: world.callers.api_key, path: { session_id: me.json.session.session_id }, body: {} }
  },
  revokeRole: async (kit, world) => {
    const body = { user_id: world.own.ids.user_id, role: 'viewer' } as const
    await kit.admin.grantRole({ body })
    return { caller: world.callers.api_key, body }
  },
  enroll: (_, world) => {
    const { privateJwk } = generateKey('ES256')
    return { caller: deviceCaller(world.own.token, privateJwk), body: { device: { name: 'phone', platform: 'ios' } } }
  },
  enrollByOidc: async (kit, world) => {
    const { idp, provider_id } = await enroller(kit, { client_id: 'web', mobile_client_ids: ['app'] })
    const challenge = await requestChallenge(kit, bearer(world.own.token))
    const { privateJwk } = generateKey('ES256')
    const nonce = enrollmentNonce(challenge, thumbprint(privateJwk))
    const id_token = await idp.idToken({ sub: randomBytes(6).toString('hex'), aud: 'app', nonce })
    return {
      caller: deviceCaller(challenge, privateJwk),
      body: { provider_id, id_token, device: { name: 'phone', platform: 'ios' } },
    }
  },
  backchannelLogout: async (kit) => {
    const { idp, provider_id } = await enroller(kit, { client_id: 'holdfast' })
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    const logout_token = await idp.idToken({ jti: randomBytes(6).toString('hex'), events }, { typ: 'logout+jwt' })
    return { caller: () => ({}), path: { provider_id }, body: { logout_token } }
  },
  beginDeviceCode: async (kit, world) => {
    const { provider_id, caller } = await approvable(kit, world)
    return { caller, body: { provider_id } }
  },
  enrollByDeviceCode: async (kit, world) => {
    const { idp, provider_id, caller } = await approvable(kit, world)
    const begun = await call(kit, operation('beginDeviceCode'), caller, { provider_id })
    assert.equal(begun.status, 201, begun.text)
    idp.decisions.set(idp.deviceCodes.at(-1)!, { idToken: await idp.idToken({ sub: randomBytes(6).toString('hex') }) })
    await kit.db.inTenant(kit.tenant, (tx) =>
      tx
        .updateTable('device_grants')
        .set({ next_poll_at: new Date(0) })
        .where('tenant_id', '=', kit.tenant)
        .execute(),
    )
    await call(kit, operation('deviceCodeStatus'), caller)
    return { caller, body: examples.enrollByDeviceCode }
  },
  beginEnrollmentBySaml: async (kit, world) => {
    const { challenge, key, provider_id } = await samlMachine(kit, world)
    return { caller: deviceCaller(challenge, key), body: { ...examples.beginEnrollmentBySaml, provider_id } }
  },
  enrollBySaml: answeredMachine,
  ingestDirectorySnapshot: (_, world) => ({
    caller: world.callers.api_key,
    body: { ...examples.ingestDirectorySnapshot, ...snapshotOf([]) },
  }),
  confirmDirectoryRun: async (kit, world) => ({
    caller: world.callers.api_key,
    path: { run_id: await heldRun(kit) },
    body: examples.confirmDirectoryRun,
  }),
  undoDirectoryRun: async (kit, world) => ({
    caller: world.callers.api_key,
    path: {
      run_id: (await kit.admin.confirmDirectoryRun({ params: { run_id: await heldRun(kit) }, body: {} })).run_id,
    },
    body: examples.undoDirectoryRun,
  }),
  searchScim: (_, { own }) => ({ caller: own.provisioner, body: everything }),
  searchScimUsers: (_, { own }) => ({ caller: own.provisioner, body: everything }),
  searchScimGroups: (_, { own }) => ({ caller: own.provisioner, body: everything }),
  createScimUser: (_, { own }) => ({
    caller: own.provisioner,
    body: { ...examples.createScimUser, userName: `new-${own.ids.scim_user_id}`, emails: [] },
  }),
  replaceScimUser: (_, { own }) => ({
    caller: own.provisioner,
    body: { ...examples.replaceScimUser, userName: `other-${own.ids.scim_user_id}` },
  }),
  patchScimUser: (_, { own }) => ({ caller: own.provisioner, body: examples.patchScimUser }),
  deleteScimUser: (_, { own }) => ({ caller: own.provisioner }),
  createScimGroup: (_, { own }) => ({
    caller: own.provisioner,
    body: { ...examples.createScimGroup, displayName: `new ${own.ids.scim_group_id}` },
  }),
  replaceScimGroup: (_, { own }) => ({
    caller: own.provisioner,
    body: { ...examples.replaceScimGroup, displayName: `other ${own.ids.scim_group_id}` },
  }),
  patchScimGroup: (_, { own }) => ({
    caller: own.provisioner,
    body: { Operations: [{ op: 'add', path: 'members', value: [{ value: own.ids.scim_user_id }] }] },
  }),
  deleteScimGroup: (_, { own }) => ({ caller: own.provisioner }),
  createDirectorySource: (_, world) => ({
    caller: world.callers.api_key,
    body: { ...examples.createDirectorySource, provider: `corp-${randomBytes(6).toString('hex')}` },
  }),
  updateDirectorySource: async (kit, world) => {
    const { source_id } = world.own.ids as { source_id: string }
    const shown = await kit.admin.getDirectorySource({ params: { source_id } })
    return { caller: world.callers.api_key, body: { ...shown, interval_minutes: 30 } }
  },
  runKeycloakSync: onlyKeycloak,
  runIdpSync: onlyKeycloak,
  cancelDirectoryRun: async (kit, world) => {
    const silent = await startDirectoryServer(kit, () => ({}))
    silent.meddle(() => 'hang')
    const { source_id } = await keycloakAt(kit, `${silent.origin}/realms/people`)
    const { run } = await kit.admin.runDirectorySource({ params: { source_id }, body: {} })
    return { caller: world.callers.api_key, path: { run_id: run.run_id }, body: {} }
  },
  renewCredential: (_, world) => ({ caller: world.own.device.caller, body: {} }),
  updateIdentityProvider: async (kit, world) => {
    const { provider_id } = world.own.ids as { provider_id: string }
    const shown = await kit.admin.getIdentityProvider({ params: { provider_id } })
    return { caller: world.callers.api_key, body: { ...shown, enrollment: true } }
  },
  unlinkUserIdentity: async (kit, world) => {
    const { provider_id, user_id } = world.own.ids as { provider_id: string; user_id: string }
    const body = { provider_id, subject: '1' }
    await kit.admin.linkUserIdentity({ params: { user_id }, body })
    return { caller: world.callers.api_key, body }
  },
}

/** Creates an OpenID provider for enrollment, with its simulated server. */
async function enroller(kit: Kit, oidc: { client_id: string; mobile_client_ids?: string[]; device_code?: 'on' }) {
  const idp = await startHostileProvider(kit)
  Object.assign(idp.changed, idp.deviceEndpoint)
  const { provider_id } = await kit.admin.createIdentityProvider({
    body: {
      kind: 'oidc',
      name: `provider-${randomBytes(6).toString('hex')}`,
      enrollment: true,
      provisioning: 'create',
      claims: { username: 'sub', email: 'email', display_name: 'name', groups: 'groups' },
      oidc: { issuer: idp.issuer, ...oidc },
    },
  })
  return { idp, provider_id }
}

/** Creates a machine without a browser whose enrollment can be approved. */
async function approvable(kit: Kit, world: Here) {
  const { idp, provider_id } = await enroller(kit, { client_id: 'holdfast', device_code: 'on' })
  const challenge = await requestChallenge(kit, bearer(world.own.token))
  return { idp, provider_id, caller: deviceCaller(challenge, generateKey('ES256').privateJwk) }
}

const keycloakAt = (kit: Kit, issuer: string) =>
  kit.admin.createDirectorySource({
    body: { ...examples.createDirectorySource, provider: `corp-${randomBytes(6).toString('hex')}`, issuer },
  })

/** Leaves one Keycloak source, for pulls that read it. */
async function onlyKeycloak(kit: Kit, world: Here): Promise<Example> {
  for (const { kind, source_id } of (await kit.admin.listDirectorySources({ query: { limit: 200 } })).items)
    if (kind === 'keycloak') await kit.admin.deleteDirectorySource({ params: { source_id } })
  await keycloakAt(kit, 'https://localhost/realms/people')
  return { caller: world.callers.api_key, body: { dry_run: true } }
}

/** Creates a held run, which would suspend every user of a directory made for it. */
async function heldRun({ admin }: Kit): Promise<string> {
  const provider = `corp-${Math.random().toString(36).slice(2)}`
  const users = [directoryUser(provider, { userName: provider, emails: [] })]
  await admin.ingestDirectorySnapshot({ body: { ...snapshotOf(users), provider } })
  const { run_id, status } = await admin.ingestDirectorySnapshot({ body: { ...snapshotOf([]), provider } })
  assert.equal(status, 'held')
  return run_id
}

/** Objects that a write needs in addition to those that it names. */
const needed: Partial<Record<Operation, readonly ObjectKind[]>> = { terminateSessions: ['device_id', 'gateway_id'] }

/** A write that succeeds, on objects of its own. It can be repeated as it is. */
export async function createWrite(kit: Kit, world: Here, name: Operation, more: readonly ObjectKind[] = []) {
  const wanted = [...objectKindsIn(name), ...(needed[name] ?? []), ...more]
  const own: Here = { ...world, own: await makeSampleObjects(kit, kit.admin, wanted), callers: { ...world.callers } }
  if (wanted.includes('device_id')) own.callers.device = own.own.device.caller
  if (wanted.includes('gateway_id')) own.callers.gateway = bearer(own.own.secret)
  const { caller, path, body, query } = await (special[name] ?? standard(name))(kit, own)
  const { ids } = own.own
  const { method, path: template } = operation(name)
  const at = { method, path: fillPath(template, { ...ids, ...path }) }
  return { ids, send: (given: unknown = body) => call(kit, at, caller, given, query) }
}
