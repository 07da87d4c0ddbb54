import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProof, generateKey } from '@holdfast/crypto'
import { createClient } from '@holdfast/sdk'
import { newWireguardKey, refused } from '../gateways.ts'
import { startKit, times } from '../kit.ts'

test('a WireGuard key belongs to one device of a tenant', async (t) => {
  const kit = await startKit(t)
  const enroll = async (key: string | undefined, admin = kit.admin) => {
    const { secret: token } = await admin.generateToken({ body: {} })
    const { privateJwk } = generateKey('ES256')
    const connection = {
      baseUrl: kit.publicUrl,
      dispatcher: kit.dispatcher,
      prove: (method: string, url: string, accessToken: string) =>
        createProof(privateJwk, { method, url, accessToken, now: new Date() }),
    }
    const device = { name: 'laptop', platform: 'linux' as const, ...(key && { wireguard_public_key: key }) }
    const made = await createClient({ ...connection, credential: token }).enroll({ body: { device } })
    return { id: made.device_id, client: createClient({ ...connection, credential: made.credential }) }
  }
  const taken = refused(422, /wireguard_public_key.*another device/)
  const key = newWireguardKey()
  const first = await enroll(key)

  await t.test(
    'a second device with it is refused, alone and among others, and costs no use of its token',
    async () => {
      await assert.rejects(enroll(key), taken)
      const shared = newWireguardKey()
      const outcomes = await Promise.allSettled([...Array.from({ length: 5 }, () => enroll(shared)), enroll(undefined)])
      assert.equal(outcomes.filter((o) => o.status === 'fulfilled').length, 2)
      for (const o of outcomes) if (o.status === 'rejected') assert.ok(taken(o.reason))
      assert.equal((await times(3, () => enroll(undefined))).length, 3)
    },
  )
  await t.test("a renewal takes no other device's key, and may keep its own", async () => {
    const other = await enroll(newWireguardKey())
    await assert.rejects(other.client.renewCredential({ body: { wireguard_public_key: key } }), taken)
    await first.client.renewCredential({ body: { wireguard_public_key: key } })
  })
  await t.test('what is no key of 32 bytes is refused', async () => {
    for (const wrong of ['not a key', 'A'.repeat(44), `${'A'.repeat(42)}B=`])
      await assert.rejects(enroll(wrong), refused(422, /wireguard_public_key/))
  })
  await t.test('another tenant may have it, and a revoked device gives it back', async () => {
    await enroll(key, await kit.as('tenant_admin', await kit.newTenant()))
    await kit.admin.changeDevice({ body: { operation: 'revoke', device_id: first.id, reason: 'lost' } })
    await enroll(key)
  })
})
