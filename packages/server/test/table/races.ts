import assert from 'node:assert/strict'
import { examples } from '@holdfast/contract/examples'
import { createProof, generateKey } from '@holdfast/crypto'
import { type Client, changeGatewayPool } from '@holdfast/sdk'
import { bearer, call, deviceCaller, enrollRaw, operation, type Raw } from '../support/actors/all-callers.ts'
import { enroll, newWireguardKey, refused, withGateway } from '../support/actors/gateways.ts'
import { makeUser } from '../support/actors/people.ts'
import { type Kit, times } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { raise } from '../support/domain/notifications.ts'

/** Twenty concurrent callers on two replicas. Returns the number that won, and the number that should. */
type Race = (kit: Kit) => Promise<{ won: number; of: number }>
const replicaOf = (kit: Kit, i: number): Kit => ({ ...kit, ...kit.replicas[i % 2]! })
const clientsOf = (kit: Kit) => kit.replicas.map((replica) => kit.clientFor(kit.adminKey, replica))

/** Counts those of twenty changes that changed something; the others must be refused with 422. */
const changes =
  (work: (client: Client, i: number) => Promise<boolean>, of = 1) =>
  async (kit: Kit) => {
    const clients = clientsOf(kit)
    const done = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => work(clients[i % 2]!, i)))
    for (const d of done) if (d.status === 'rejected') assert.equal(d.reason?.status, 422, String(d.reason))
    return { won: done.filter((d) => d.status === 'fulfilled' && d.value).length, of }
  }
const count = (answers: readonly { status: number }[], ...wanted: number[]) =>
  answers.filter((a) => wanted.includes(a.status)).length

/** Twenty enrollments with one token, less those (`beside`) that are made elsewhere. `of` gives each its own key. */
async function enrollTwenty(
  kit: Kit,
  token: string,
  of: (i: number) => { wireguard?: string; key?: Key } = () => ({}),
  beside = 0,
) {
  return times(20 - beside, (i) => {
    const { wireguard, key = generateKey('ES256').privateJwk } = of(i)
    const device = { name: `d${i}`, platform: 'linux', ...(wireguard && { wireguard_public_key: wireguard }) }
    return call(replicaOf(kit, i), operation('enroll'), deviceCaller(token, key), { device })
  })
}
type Key = ReturnType<typeof generateKey>['privateJwk']
const tokenOf = async ({ admin }: Kit, body: object) => (await admin.generateToken({ body })).secret
const groupId = async ({ admin }: Kit, name: string) =>
  (await admin.changeGroup({ body: { operation: 'create', group: { name } } })).group.group_id

/** An address for documentation (RFC 5737); no request is sent to it. */
const unreachable = {
  kind: 'oidc' as const,
  enabled: false,
  oidc: { issuer: 'https://192.0.2.1', client_id: 'holdfast' },
}

/** The races, by the limited resource. */
export const races: Record<string, Race> = {
  'the uses of an enrollment token': async (kit) => {
    const answers = await enrollTwenty(kit, await tokenOf(kit, { max_uses: 5 }))
    assert.equal(count(answers, 401), 15)
    return { won: count(answers, 201), of: 5 }
  },
  'the refusals of an enrollment token': async (kit) => {
    const { secret, enrollment_token } = await kit.admin.generateToken({ body: { platforms: ['windows'] } })
    assert.equal(count(await enrollTwenty(kit, secret), 403), 20)
    const params = { token_id: enrollment_token.token_id }
    const refusals = async () => (await kit.admin.getToken({ params })).attempts_refused
    await until(async () => (await refusals()) >= 20)
    return { won: await refusals(), of: 20 }
  },
  'the devices of a user': async (kit) => {
    const token = await tokenOf(kit, { max_uses: 0, user_id: await makeUser(kit, 'ana'), max_devices_per_user: 3 })
    return { won: count(await enrollTwenty(kit, token), 201), of: 3 }
  },
  'a device key': async (kit) => {
    const key = generateKey('ES256').privateJwk
    const answers = await enrollTwenty(kit, await tokenOf(kit, { max_uses: 0 }), () => ({ key }))
    return { won: new Set(answers.filter((a) => a.status === 201).map((a) => a.json.device_id)).size, of: 1 }
  },
  'a WireGuard key of a device': async (kit) => {
    const wireguard = newWireguardKey()
    return {
      won: count(await enrollTwenty(kit, await tokenOf(kit, { max_uses: 0 }), () => ({ wireguard })), 201),
      of: 1,
    }
  },
  'a WireGuard key that its device gives up': async (kit) => {
    const [wireguard, next] = [newWireguardKey(), newWireguardKey()]
    const owner = await enroll(kit, 'owner', { wireguard_public_key: wireguard })
    const others = await times(4, (i) => enroll(kit, `other ${i}`))
    const token = await tokenOf(kit, { max_uses: 0 })
    const isMade = async (work: Promise<unknown>) =>
      work.then(
        () => true,
        (e) => !refused(422)(e),
      )
    const [moved, renewed, enrolled] = await Promise.all([
      isMade(owner.renew({ wireguard_public_key: next })),
      times(4, (i) =>
        isMade(others[i]!.at(kit.replicas[i % 2]!).renewCredential({ body: { wireguard_public_key: wireguard } })),
      ),
      enrollTwenty(kit, token, () => ({ wireguard }), 5),
    ])
    assert.ok(moved)
    assert.equal(count(enrolled, 422), 15)
    return { won: renewed.filter(Boolean).length, of: 0 }
  },
  'an overlay address': async (kit) => {
    await enrollTwenty(kit, await tokenOf(kit, { max_uses: 0 }))
    const { items } = await kit.admin.listDevices({ query: { limit: 200 } })
    return { won: new Set(items.map((d) => d.addresses.ipv4)).size, of: items.length }
  },
  'a generation of a device credential': async (kit) => {
    const device = await enrollRaw(kit, await tokenOf(kit, {}))
    const answers = await times(20, (i) => call(replicaOf(kit, i), operation('renewCredential'), device.caller, {}))
    assert.equal(count(answers, 200, 422), 20)
    const generations = answers.filter((a) => a.status === 200).map(generationOf)
    return { won: new Set(generations).size, of: 1 }
  },
  'a proof of a key on a change': async (kit) => {
    const device = await enrollRaw(kit, await tokenOf(kit, {}))
    const { method, path } = operation('reportPosture')
    const dpop = createProof(device.key, {
      method,
      url: kit.publicUrl + path,
      accessToken: device.credential,
      now: new Date(),
    })
    const caller = () => ({ authorization: `Bearer ${device.credential}`, dpop })
    const answers = await times(20, (i) =>
      call(replicaOf(kit, i), { method, path }, caller, { facts: { 'disk.encrypted': true } }),
    )
    return { won: count(answers, 200), of: 1 }
  },
  'the new secret of a gateway': async (kit) => {
    const { gateway } = await withGateway(kit, 'rotating')
    const clients = clientsOf(kit)
    const params = { gateway_id: gateway.gateway_id }
    const rotated = await times(20, (i) => clients[i % 2]!.rotateGatewaySecret({ params }))
    const uses = await times(20, (i) =>
      call(replicaOf(kit, i), operation('heartbeat'), bearer(rotated[i]!.secret), { boot_id: 'b', active_sessions: 0 }),
    )
    return { won: count(uses, 200), of: 1 }
  },
  'the name of a gateway': async (kit) => {
    const { pool } = await withGateway(kit, 'other')
    const params = { pool_id: pool.pool_id }
    return changes(async (c, i) => !!(await c.createGateway({ params, body: { name: i % 2 ? 'One' : 'one' } })))(kit)
  },
  'the key of a gateway': async (kit) => {
    const params = { pool_id: (await withGateway(kit, 'third')).pool.pool_id }
    const public_key = newWireguardKey()
    return changes(async (c, i) => !!(await c.createGateway({ params, body: { name: `k${i}`, public_key } })))(kit)
  },
  'a key that gateways announce': async (kit) => {
    const params = { pool_id: (await withGateway(kit, 'fourth')).pool.pool_id }
    await changeGatewayPool(kit.admin, { params }, { requires_approval: true })
    const public_key = newWireguardKey()
    const made = await times(5, (i) => kit.admin.createGateway({ params, body: { name: `p${i}` } }))
    // Each gateway presents the key four times.
    const answers = await times(20, (i) =>
      call(replicaOf(kit, i >> 2), operation('identifyGateway'), bearer(made[i % 5]!.secret), { public_key }),
    )
    return { won: new Set(answers.flatMap((a, i) => (a.status === 200 ? [i % 5] : []))).size, of: 1 }
  },
  'the name of a pool': changes(
    async (c, i) => !!(await c.createGatewayPool({ body: { name: i % 2 ? 'Pool' : 'pool', region: { code: 'eu' } } })),
  ),
  'the name of a SIEM connector': changes(
    async (c, i) =>
      !!(await c.createSiemConnector({ body: { ...examples.createSiemConnector, name: i % 2 ? 'SOC' : 'soc' } })),
  ),
  'the name of an identity provider': changes(
    async (c, i) => !!(await c.createIdentityProvider({ body: { ...unreachable, name: i % 2 ? 'Login' : 'login' } })),
  ),
  'the end of an identity provider': async (kit) => {
    const { provider_id } = await kit.admin.createIdentityProvider({ body: { ...unreachable, name: 'to end' } })
    return changes(async (c) => (await c.deleteIdentityProvider({ params: { provider_id } })).changed)(kit)
  },
  'an account at an identity provider': async (kit) => {
    const { provider_id } = await kit.admin.createIdentityProvider({ body: { ...unreachable, name: 'to link' } })
    const users = await Promise.all(Array.from({ length: 4 }, (_, i) => makeUser(kit, `linked-${i}`)))
    return changes(async (c, i) => {
      const body = { provider_id, subject: 'the same' }
      return (await c.linkUserIdentity({ params: { user_id: users[i % 4]! }, body })).changed
    })(kit)
  },
  'a change under an Idempotency-Key': async (kit) => {
    const caller = () => ({ authorization: `Bearer ${kit.adminKey}`, 'idempotency-key': 'once' })
    const body = { name: 'made once', role: 'viewer' }
    const answers = await times(20, (i) => call(replicaOf(kit, i), operation('createApiKey'), caller, body))
    assert.equal(count(answers, 201, 422), 20)
    const { items } = await kit.admin.listApiKeys({ query: { limit: 200 } })
    return { won: items.filter((k) => k.name === 'made once').length, of: 1 }
  },
  'the end of an API key': async (kit) => {
    const { api_key } = await kit.admin.createApiKey({ body: { name: 'old', role: 'viewer' } })
    return changes(async (c) => (await c.revokeApiKey({ params: { key_id: api_key.key_id } })).changed)(kit)
  },
  'the end of an enrollment token': async (kit) => {
    const { enrollment_token } = await kit.admin.generateToken({ body: {} })
    const params = { token_id: enrollment_token.token_id }
    return changes(async (c) => (await c.revokeToken({ params })).changed)(kit)
  },
  'the end of a device': async (kit) => {
    const { id: device_id } = await enrollRaw(kit, await tokenOf(kit, {}))
    return changes(async (c) => (await c.changeDevice({ body: { operation: 'revoke', device_id } })).changed)(kit)
  },
  'an open notification of one cause': async (kit) => {
    const notice = { dedupe_key: 'once' }
    const raised = await times(20, (i) => raise(replicaOf(kit, i), notice))
    return { won: raised.filter((id) => id !== undefined).length, of: 1 }
  },
  'an acknowledgement': async (kit) => {
    await raise(kit, { dedupe_key: 'to acknowledge', title: 'to acknowledge' })
    const { items } = await kit.admin.listNotifications()
    const { notification_id } = items.find((n) => n.title === 'to acknowledge')!
    return changes(async (c) => (await c.acknowledgeNotification({ params: { notification_id } })).changed)(kit)
  },
  'a version of the policy': async (kit) => {
    const clients = clientsOf(kit)
    const body = { channel: 'stable', policy: { schema: 'holdfast.policy/1', rules: [] } } as const
    const made = await times(20, (i) => clients[i % 2]!.publishPolicy({ body: { ...body, note: `note ${i}` } }))
    return { won: new Set(made.map((b) => b.version)).size, of: 20 }
  },
  'a number of the change log': async (kit) => {
    const clients = clientsOf(kit)
    const seqOf = () =>
      kit.db.inTenant(kit.tenant, (tx) =>
        tx.selectFrom('tenant_epochs').select('seq').where('tenant_id', '=', kit.tenant).executeTakeFirstOrThrow(),
      )
    const before = Number((await seqOf()).seq)
    await times(20, (i) => clients[i % 2]!.createGatewayPool({ body: { name: `seq ${i}`, region: { code: 'eu' } } }))
    return { won: Number((await seqOf()).seq) - before, of: 20 }
  },
  'a membership, and how many a group has': async (kit) => {
    const group_id = await groupId(kit, 'counted')
    const user = await makeUser(kit, 'member')
    const clients = clientsOf(kit)
    const add = { operation: 'update' as const, group_id, group: { add_members: [user] } }
    await times(20, (i) => clients[i % 2]!.changeGroup({ body: add }))
    return { won: (await kit.admin.getGroup({ params: { group_id } })).member_count, of: 1 }
  },
  'the name of a plan': changes(async (client) => {
    await client.createPlan({ body: { name: 'one-of-twenty', limits: {}, features: [] } })
    return true
  }),
  'the name of a saved view': changes(
    async (c, i) => !!(await c.createView({ body: { ...examples.createView, name: i % 2 ? 'Mine' : 'mine' } })),
  ),
  'the name of a tenant': async (kit) => {
    const made = await times(20, (i) => kit.replicas[i % 2]!.app.tenancy.createTenant('one of twenty'))
    return { won: new Set(made).size, of: 1 }
  },
}
const generationOf = ({ json }: Raw): number =>
  JSON.parse(Buffer.from(String(json.credential).split('.')[1] ?? '', 'base64url').toString()).gen
