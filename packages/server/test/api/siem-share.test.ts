import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { encodeId } from '../../src/kernel/ids.ts'
import { startKit } from '../support/deployment/deployment.ts'
import { tenantOf } from '../support/deployment/separate-tenant.ts'
import { until } from '../support/deployment/wait-until.ts'
import { isAllSent } from '../support/domain/siem-delivery.ts'
import {
  arrive,
  eventsIn,
  numbersIn,
  opened,
  type Received,
  startHttp,
  toWebhook,
} from '../support/providers/siem-receivers.ts'

test('many receivers of one replica', async (t) => {
  const deployment = await startKit(t, { config: opened })

  await t.test('a tenant has its share of what is sent at once, and receivers that are slow have half', async () => {
    let isHanging = false
    const hanging: ServerResponse[] = []
    const sink = await startHttp(deployment, (_, response) => {
      if (isHanging) hanging.push(response)
      else response.end()
    })
    const withMany = async (count: number) => {
      const kit = await tenantOf(deployment)
      for (let i = 0; i < count; i++)
        await kit.admin.createSiemConnector({ body: toWebhook(sink.url, { name: `soc ${i}` }) })
      return kit
    }

    const many = await withMany(9)
    await until(() => isAllSent(many), 'their creation')
    isHanging = true
    await arrive(many, 1)
    await until(() => hanging.length === 8, 'its share')
    // Two more looks.
    await delay(1200)
    assert.equal(hanging.length, 8)
    isHanging = false
    for (const response of hanging.splice(0)) response.end()
    await until(() => isAllSent(many), 'the ninth')

    const others = [many, await withMany(8), await withMany(8), await withMany(8)]
    for (const kit of others) await until(() => isAllSent(kit), 'their creation')
    isHanging = true
    await deployment.db.acrossTenants((tx) => tx.updateTable('siem_streams').set({ is_slow: true }).execute())
    for (const kit of others) await arrive(kit, 1, 2)
    await until(() => hanging.length >= 16, 'half of what a replica sends at once')
    const quick = await tenantOf(deployment)
    const taken: Received[] = []
    const other = await startHttp(deployment, (request, response) => {
      taken.push(...eventsIn(request))
      response.end()
    })
    await quick.admin.createSiemConnector({ body: toWebhook(other.url) })
    await until(() => taken.length > 0, 'who is quick')
    assert.ok(hanging.length < 32 && !hanging.some((response) => response.closed), `${hanging.length}`)
    isHanging = false
    for (const response of hanging.splice(0)) response.end()
    for (const kit of others) await until(() => isAllSent(kit), 'those who were slow')
  })

  await t.test('a tenant that is to be deleted is forwarded until it is', async () => {
    const kit = await tenantOf(deployment)
    const taken: Received[] = []
    const sink = await startHttp(kit, (request, response) => {
      taken.push(...eventsIn(request))
      response.end()
    })
    await kit.admin.createSiemConnector({ body: toWebhook(sink.url) })
    await until(() => isAllSent(kit), 'its creation')
    const tenant_id = encodeId('tenant', kit.tenant)
    await deployment.admin.changeTenant({ body: { operation: 'delete', tenant_id, delay_seconds: 3600 } })
    await arrive(kit, 1)
    await until(() => numbersIn(taken).length === 1, 'what happens until then')
    assert.ok(taken.some((e) => e.kind === 'tenant.changed'))
  })
})
