import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enrollDevice, openGateway } from '@holdfast/sdk'
import { encodeId } from '../../src/kernel/ids.ts'
import { populate } from '../support/actors/all-callers.ts'
import { region, seqOf } from '../support/actors/gateways.ts'
import { tufClient } from '../support/clients/tuf-client.ts'
import { withClient } from '../support/database/test-database.ts'
import { emptyDatabase, movable, startOperator, within } from '../support/deployment/backup-drill.ts'
import { type Kit, startKit } from '../support/deployment/deployment.ts'
import { until } from '../support/deployment/wait-until.ts'
import { recordOf, requireChain } from '../support/domain/audit-chain.ts'
import { release } from '../support/domain/releases.ts'

const rulesFor = (cidr: string) => ({
  channel: 'stable' as const,
  policy: {
    schema: 'holdfast.policy/1' as const,
    resources: { code: { cidrs: [cidr] } },
    rules: [{ id: 'code', action: 'allow' as const, from: { any: true as const }, to: ['code'] }],
  },
})

/** An event without its sequence number and hash. */
const unplaced = ({ seq: _, hash: __, ...event }: Awaited<ReturnType<typeof recordOf>>[number]) => event

const crlNumbers = async (gateway: Kit['admin']) =>
  (await gateway.gatewayTrustAnchors()).crls.map(({ number }) => number)

/** Creates and revokes tokens in four loops until it is stopped. Returns the number of answered requests. */
function startLoad({ admin }: Kit) {
  let isOver = false
  const running = Promise.all(
    [1, 2, 3, 4].map(async () => {
      let made = 0
      for (; !isOver; made++) {
        const { enrollment_token } = await admin.generateToken({ body: { name: `load ${made}` } })
        if (made % 2) await admin.revokeToken({ params: { token_id: enrollment_token.token_id }, body: {} })
      }
      return made
    }),
  )
  return {
    stop: async () => {
      isOver = true
      return (await running).reduce((a, b) => a + b)
    },
  }
}

test('a backup under load is of one moment; restored elsewhere devices and gateways go on with what they have', async (t) => {
  const kit = await startKit(t, { replicas: 2 })
  const beside = within(kit)
  const operator = await startOperator(t)
  const { admin, publicUrl: baseUrl } = kit
  const { dispatcher, moveTo } = movable(beside, kit.url)
  const made = await populate(kit, admin)
  await admin.publishPolicy({ body: rulesFor('10.1.0.0/16') })
  const { secret: token } = await admin.generateToken({ body: { max_uses: 2 } })
  const device = await enrollDevice({ baseUrl, token, dispatcher, device: { name: 'laptop', platform: 'linux' } })
  await device.fetchBundle()
  const pool = await admin.createGatewayPool({ body: { name: 'frankfurt', region } })
  const { gateway: registered, secret } = await admin.createGateway({
    params: { pool_id: pool.pool_id },
    body: { name: 'fra-1', endpoints: [{ host: 'fra-1.example', port: 51820, proto: 'udp' }] },
  })
  const gateway = await openGateway({
    baseUrl,
    secret,
    dispatcher,
    gatewayId: registered.gateway_id,
    tenantId: encodeId('tenant', kit.tenant),
  })
  await gateway.pull()

  const tuf = await tufClient(kit, { dispatcher })
  await tuf.refresh()

  const load = startLoad(kit)
  const env = { HOLDFAST_PACKAGES_DIR: kit.packagesDir }
  const { code, err, out } = await operator.backUp(kit.databaseUrl, 'one.age', env)
  const taken_at = /taken_at +(\S+)/.exec(out)?.[1]
  assert.equal(code, 0, err)
  assert.match(out, /sha256 +[0-9a-f]{64}/)
  const writes = await load.stop()
  assert.ok(writes > 0, 'the deployment was written to meanwhile')

  // Later changes are lost by the restore, but devices, gateways and verifiers have seen them.
  await admin.publishPolicy({ body: rulesFor('10.2.0.0/16') })
  await admin.rotateTrustAnchors({ body: {} })
  const { items: signers } = await admin.listSigners({ query: { purpose: 'policy', state: 'active' } })
  assert.equal(signers.length, 1)
  await device.fetchBundle()
  await gateway.pull()
  const seen = { digest: device.policy?.digest, seq: gateway.state!.seq, trust: await admin.trustAnchors() }
  await release(kit, '2.0.0')
  await tuf.refresh()
  const listed = await crlNumbers(kit.clientFor(secret))
  const before = await recordOf(kit)
  const seqBefore = await seqOf(kit)
  for (const replica of kit.replicas) await replica.stop()

  const url = await emptyDatabase(beside)
  const restored = await operator.restore(url, 'one.age', env)
  assert.equal(restored.code, 0, restored.err)
  const drill = await startKit(beside, { route: () => url, slowness: 5, packages: { dir: kit.packagesDir } })
  const back: Kit = { ...drill, admin: drill.clientFor(kit.adminKey) }
  moveTo(back.url)

  const after = await recordOf(back)
  requireChain(after)
  const fence = after.find((e) => e.kind === 'deployment.fenced')!
  assert.ok(fence, 'the restore is on record')
  const { rows } = await withClient(url, (c) =>
    c.query<{ placed: number }>(
      'select count(*)::int as placed from audit_log where tenant_id = $1 and sequenced_at <= $2::timestamptz',
      [kit.tenant, taken_at],
    ),
  )
  const placed = rows[0]!.placed
  assert.ok(placed > 0)
  assert.deepEqual(after.slice(0, placed), before.slice(0, placed), 'what had its place by then keeps it')
  const known = new Map(before.map((event) => [event.event_id, unplaced(event)]))
  for (const event of after.slice(placed, fence.seq - 1))
    assert.deepEqual(unplaced(event), known.get(event.event_id), 'what was on its way gets its place here')
  const tokens = after.slice(0, fence.seq - 1).filter((e) => e.kind === 'enrollment_token.created').length
  const count = await withClient(url, (c) => c.query('select count(*)::int as n from enrollment_tokens'))
  assert.equal(count.rows[0].n, tokens, 'each token with its event, and no event without its token')

  assert.ok((await seqOf(back)) > seqBefore + 1000)
  await device.pollDigest()
  await device.fetchBundle()
  assert.notEqual(device.policy?.digest, seen.digest, 'the policy of the backup is followed again')
  await gateway.pull()
  assert.ok(gateway.state!.seq > seen.seq)
  assert.ok(gateway.state!.peers.has(device.id))
  assert.ok((await back.admin.trustAnchors()).version > seen.trust.version)
  assert.ok(Math.min(...(await crlNumbers(back.clientFor(secret)))) > Math.max(...listed), 'revocation lists')
  await tuf.refresh()
  assert.equal((await back.admin.getUser({ params: { user_id: made.ids.user_id } })).user_id, made.ids.user_id)
  await back.admin.generateToken({ body: {} })
  await until(async () => (await recordOf(back)).length > after.length, 'the record goes on')
  requireChain(await recordOf(back))
})
